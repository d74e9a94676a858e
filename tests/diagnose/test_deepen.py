"""The first defect does not hide the others: what is fixed to see further."""

from __future__ import annotations

import time

import pytest

from grader.diagnose import Program, deepen
from grader.pipeline import diagnosis
from grader.pipeline.budget import Budget
from grader.pipeline.clock import Clock
from grader.records import (
    Comparison,
    Edit,
    Evaluation,
    Finding,
    Fix,
    Mismatch,
    Submission,
    Verdict,
)
from tests.examiners import Scripted

CODE = "return out, state\n"
ALONE = Fix(label="return out alone", edits=(Edit(start=7, end=17, text="out"),))


def evaluation(kind: str, wrong: float) -> Evaluation:
    mismatch = Mismatch(kind=kind, text=kind, fraction=wrong)  # type: ignore[arg-type]
    return Evaluation(
        submission="",
        device="sim",
        sandbox="none",
        verdict=Verdict(status="incorrect", sentence=kind),
        comparisons=(Comparison(workload="w", role="nominal", equal=False, mismatch=mismatch),),
    )


def of(rule: str, confidence: str = "proven", *, other_form: bool = False) -> Finding:
    return Finding(
        rule=rule,
        name=rule.lower(),
        severity="error",
        confidence=confidence,  # type: ignore[arg-type]
        message="m",
        fixes=(ALONE,),
        other_form=other_form,
    )


def states(first: Finding, after: Evaluation) -> list[str]:
    """Return the texts on the way down from a program that returns two results where one is asked for."""
    submission = Submission(sample="s", code=CODE, line_map=(1,), how="")
    start = Program(submission, evaluation("count", 0.0), (first,))
    found = deepen(start, Scripted(lambda _: after, lambda _: (of("NUM006"),)), lambda: True)
    return [state.submission.code for state in found]


def test_numbers_are_looked_at_once_the_results_have_their_form() -> None:
    first = of("EXT005", other_form=True)
    assert states(first, evaluation("values", 1.0)) == [CODE, "return out\n"]


def test_a_fix_that_leaves_no_python_is_none() -> None:
    broken = Fix(label="break it", edits=(Edit(start=7, end=17, text="out(Tensor x"),))
    first = of("EXT005", other_form=True).model_copy(update={"fixes": (broken,)})
    assert states(first, evaluation("values", 1.0)) == [CODE]


@pytest.mark.parametrize(
    ("first", "after"),
    [
        (of("EXT005", other_form=True), evaluation("shape", 0.0)),
        (of("EXT005", "likely", other_form=True), evaluation("values", 1.0)),
        (of("API003"), evaluation("values", 1.0)),
    ],
)
def test_what_brings_no_numbers_to_light_is_left(first: Finding, after: Evaluation) -> None:
    assert states(first, after) == [CODE]


def test_what_was_fixed_on_the_way_is_kept_where_the_deepest_state_is_probed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    start = Program(Submission(sample="s", code=CODE, line_map=(1,), how=""), evaluation("count", 0.0), (of("EXT005", other_form=True),))  # fmt: skip
    examiner = Scripted(lambda _: evaluation("values", 1.0), lambda _: (of("NUM006"),))
    probed: list[str] = []
    monkeypatch.setattr(
        diagnosis, "_probe_program", lambda _, one, __: probed.append(one.submission.code) or one
    )
    found = diagnosis.diagnose_program(examiner, start, Clock(), Budget(60, time.monotonic()))  # type: ignore[arg-type]
    assert probed == [CODE, "return out\n"]
    assert [one.fixes[0][1] for one in found[1:]] == [ALONE]
