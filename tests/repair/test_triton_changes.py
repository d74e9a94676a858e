"""Small changes of Triton programs: what was meant is among those that are tried, and verified where it is right."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader import pipeline
from grader.config import Options
from grader.pipeline.clock import Clock
from grader.pipeline.examiner import examiner_of
from grader.pipeline.prepare import prepare
from grader.pipeline.repairs import repair_program
from grader.records import Sample
from grader.repair.candidates.order import candidates
from grader.repair.candidates.triton import MOST
from grader.repair.candidates.weave import weave
from grader.source import edits, parse
from grader.store import Store
from tests.corpus import corpus

from .test_slips import incorrect

TABLE = tomllib.loads(Path(__file__).with_name("slips_triton.toml").read_text("utf-8"))
SLIPS = [
    pytest.param(program["right"], old, new, id=f"{name}: {new.strip()}")
    for name, program in TABLE.items()
    for old, new in program["slips"]
]


def changed(wrong: str) -> Iterator[str]:
    """Yield a program after each small change that is tried, in one form of writing."""
    for one in candidates(parse(wrong), incorrect(wrong), "w", most=MOST):
        fix = one.fix()
        assert fix is not None
        yield ast.unparse(ast.parse(edits.apply(wrong, fix.edits)))


@pytest.mark.parametrize(("right", "old", "new"), SLIPS)
def test_what_was_meant_is_among_the_changes_that_are_tried(right: str, old: str, new: str) -> None:
    assert right.count(old) == 1
    assert ast.unparse(ast.parse(right)) in changed(right.replace(old, new))


def test_a_change_is_python_and_changes_something() -> None:
    for program in TABLE.values():
        same = ast.unparse(ast.parse(program["right"]))
        assert same not in set(changed(program["right"]))


def test_a_woven_program_is_python_that_holds_every_change() -> None:
    right = TABLE["rows"]["right"]
    program = incorrect(right)
    numbered = dict(enumerate(candidates(parse(right), program, "w", most=MOST), start=1))
    woven = weave(program.submission, numbered).code
    held = {target.id: node.value for node in ast.parse(woven).body if isinstance(node, ast.Assign)
            for target in node.targets if isinstance(target, ast.Name)}  # fmt: skip
    assert set(ast.literal_eval(held["kg_choice_edits"])) == set(numbered)
    assert ast.literal_eval(held["kg_choice_text"]) == right


@pytest.mark.slow
def test_a_slip_is_repaired_and_the_repair_is_right(tmp_path: Path) -> None:
    wrong = next(one for one in corpus.mutants("triton") if one.name == "l2_norm_rows--missing-root")  # fmt: skip
    grading = pipeline.open_context(Options(device="sim", cache=tmp_path, task=wrong.task), Store(tmp_path), 7)  # fmt: skip
    prepared = prepare(grading, Sample(id="s", origin="s", format="python", text=wrong.code))
    assert prepared.submission is not None
    examiner = examiner_of(grading, prepared)
    fixed = repair_program(examiner, (examiner.examine(prepared.submission),), Clock()).repair
    assert fixed is not None
    assert fixed.evaluation.verdict.status == "correct"
    assert "tl.sqrt(tl.sum(acc, axis=0))" in fixed.code
