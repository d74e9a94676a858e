"""How all small changes stand in one program, which of them are left out, and how long one may take."""

from __future__ import annotations

import ast
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.diagnose import Program
from grader.records import Run, Workload
from grader.repair.candidates.order import candidates
from grader.repair.candidates.screen import allowed_seconds
from grader.repair.candidates.weave import CHOICE, candidates_named, weave
from grader.source import parse

from .mean import MEAN, changed


def test_nothing_is_changed_that_the_compiler_must_know(program: Program) -> None:
    assert not any("part[257]" in line or "part[128]" in line for line in changed(program))


def test_no_variable_is_proposed_where_it_is_not_known(program: Program) -> None:
    assert not any("] = part[s]" in line or "y[i]" in line for line in changed(program))


def test_a_compiler_names_an_alternative_by_the_line_that_it_stands_on(program: Program) -> None:
    """Of several that stand for one expression, and for others on its line, one that is refused goes alone."""
    numbered = dict(enumerate(candidates(parse(MEAN), program)[:60], 1))
    woven = weave(program.submission, numbered).code
    replaced = [n for n, one in numbered.items() if all(p.kind == "replace" for p in one.pieces)]
    own = [n for n in replaced if f"/*@*/{CHOICE} == {n} ?" in woven]
    assert len(own) > 20
    for number in own:
        words = f"/*@*/{CHOICE} == {number} ?"
        there = {n for n, line in enumerate(woven.split("\n"), 1) if line.startswith(words)}
        assert candidates_named(numbered, woven, there) == {number}


@settings(deadline=None, max_examples=15)
@given(st.data())
def test_without_what_was_woven_in_the_program_is_the_old_one(
    program: Program, data: st.DataObject
) -> None:
    every = candidates(parse(MEAN), program)
    chosen = data.draw(st.lists(st.sampled_from(range(len(every))), unique=True, max_size=40))
    woven = weave(program.submission, {n + 1: every[n] for n in chosen}).code
    ast.parse(woven)
    assert all(
        woven.count(a) - MEAN.count(a) == woven.count(b) - MEAN.count(b) for a, b in ("()", "{}")
    )
    for n in chosen:
        assert re.search(rf"{CHOICE}(?: [!=]= |forward_){n + 1}\b", woven)


@pytest.mark.parametrize(("took", "may"), [(None, 2.0), (0.001, 1.0), (0.15, 1.5), (9.0, 2.0)])
def test_a_change_may_take_many_times_as_long_as_the_program(
    program: Program, took: float | None, may: float
) -> None:
    status: Any = "hung" if took is None else "ran"
    run = Run(workload="w", device="sim", status=status, seconds=took or 0.0)
    before = program.evaluation.model_copy(update={"runs": (run,)})
    workload = Workload(name="w", role="nominal", inputs=())
    assert allowed_seconds(before, (workload,)) == pytest.approx(may)


def test_a_copy_with_other_code_has_another_key(program: Program) -> None:
    assert program.submission.key != program.submission.model_copy(update={"code": "x"}).key


def test_the_number_of_a_change_reaches_functions_without_a_launch(program: Program) -> None:
    alone = "torch::Tensor run(torch::Tensor x, torch::Tensor w) {\n    return torch::matmul(x, w);\n}\n"
    code = MEAN[: MEAN.index("torch::Tensor run")] + alone + MEAN[MEAN.rindex('"""') :]
    submission = program.submission.model_copy(update={"code": code})
    assert f"{CHOICE}turn()" in weave(submission, {}).code.partition("run(torch")[2]


def test_no_loop_with_alternatives_in_it_is_unrolled(program: Program) -> None:
    head = "    for (int s = "
    text = MEAN.replace(head, f"    #pragma unroll 4\n{head}", 1)
    assert text != MEAN
    submission = program.submission.model_copy(update={"code": text})
    numbered = dict(enumerate(candidates(parse(text), program)[:20], 1))
    assert re.findall(r"#pragma unroll.*", weave(submission, numbered).code) == ["#pragma unroll 1"]
