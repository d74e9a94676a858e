"""Small changes of programs with slips: `slips.toml` says what must be among those that are tried."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from grader.diagnose import Program
from grader.records import Comparison, Evaluation, Mismatch, Submission, Verdict
from grader.repair.candidates.order import candidates
from grader.source import edits, parse
from tests.rules.examples import as_submission

PROGRAMS = tomllib.loads(Path(__file__).with_name("slips.toml").read_text("utf-8"))["program"]


def incorrect(code: str, **compared: Any) -> Program:
    """Return a program whose values are wrong, for no reason that was seen."""
    wrong = Mismatch(kind="values", text="wrong", fraction=1.0, **compared)
    comparison = Comparison(workload="w", role="nominal", equal=False, mismatch=wrong)
    submission = Submission(sample="s", code=code, line_map=(), how="")
    evaluation = Evaluation(
        submission=submission.key,
        device="cuda",
        sandbox="none",
        verdict=Verdict(status="incorrect", sentence="wrong"),
        comparisons=(comparison,),
    )
    return Program(submission, evaluation, ())


@cache
def changed(cuda: str) -> tuple[str, ...]:
    """Return a program after each small change, without white space, the likeliest first."""
    code = as_submission(cuda)
    fixes = (one.fix() for one in candidates(parse(code), incorrect(code), "w"))
    return tuple(_packed(edits.apply(code, fix.edits)) for fix in fixes if fix is not None)


def _packed(text: str) -> str:
    return re.sub(r"\s+", "", text)


@pytest.mark.parametrize("program", PROGRAMS, ids=[one["name"] for one in PROGRAMS])
def test_what_was_meant_is_among_the_changes(program: dict[str, Any]) -> None:
    made = changed(program["code"])
    missing = [
        lines
        for lines in program["meant"]
        if not any(all(_packed(line) in text for line in lines) for text in made)
    ]
    assert not missing


def test_no_fixed_number_of_blocks_is_tried_for_what_follows_the_sizes() -> None:
    (taps,) = (one["code"] for one in PROGRAMS if one["name"] == "causal taps")
    assert not any("<<<threads,threads>>>" in text for text in changed(taps))
    assert any("<<<total,threads>>>" in text for text in changed(taps))
