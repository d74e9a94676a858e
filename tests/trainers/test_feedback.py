"""Feedback says what its level allows, and holds nothing that would give the answer away."""

from __future__ import annotations

import re
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from grader.config import Options
from grader.records import (
    Assessment,
    Build,
    Comparison,
    Edit,
    Evaluation,
    Evidence,
    Finding,
    Fix,
    Mismatch,
    Place,
    Run,
    Status,
    Verdict,
)
from grader.reward import Answer, Grader, feedback
from grader.reward.feedback import LEVELS, SENTENCES, Level
from tests.trainers.replayed import SIM, builds, relu

SECRET = "31337.25"
"""Stands for an expected value, an input, a seed, a fix: whatever only a run or the reference knows."""
ANSWER = "first\nint i = blockIdx.x;\nlast\n"


def told_by_a_run(status: Status) -> Assessment:
    """Return an assessment that holds the secret in every sentence that a run or a comparison makes."""
    place = Place(line=1, end_line=1, sample_line=2, excerpt=SECRET)
    seen = Evidence(
        kind="mismatch", code=SECRET, text=SECRET, place=place, kernel=SECRET, workload=SECRET
    )
    raised = Evidence(kind="python", code=SECRET, text=SECRET)
    fix = Fix(label=SECRET, edits=(Edit(start=0, end=1, text=SECRET),))
    finding = Finding(
        rule="NUM001",
        name="computes-something-else",
        severity="error",
        confidence="proven",
        message=SECRET,
        place=place,
        evidence=(seen,),
        consequences=(SECRET,),
        after_fix=(SECRET,),
        fixes=(fix,),
        conditions=SECRET,
        workload=SECRET,
        kernels=(SECRET,),
        names=(SECRET,),
        cause=SECRET,
    )
    wrong = Mismatch(kind="values", text=SECRET, worst_reference=float(SECRET), patterns=(seen,))
    evaluation = Evaluation(
        submission=SECRET,
        device="sim",
        sandbox=SECRET,
        build=Build(status="failed", device="sim", errors=(raised,), log=SECRET, reason=SECRET),
        runs=(Run(workload=SECRET, device="sim", status="raised", reason=SECRET, output=SECRET),),
        comparisons=(Comparison(workload=SECRET, role="nominal", equal=False, mismatch=wrong),),
        probes=(seen,),
        verdict=Verdict(status=status, sentence=SECRET, reasons=(SECRET,)),
    )
    made: Assessment = _filled(Assessment(evaluation=evaluation, findings=(finding,)))
    return made


@given(st.sampled_from(get_args(Status)), st.sampled_from(LEVELS[:-1]))
def test_no_word_of_a_run_is_passed_on_below_review(status: Status, level: Level) -> None:
    told = feedback(told_by_a_run(status), level, ANSWER)
    assert SECRET not in told.text
    assert SECRET not in told.model_dump_json()


def _filled(value: Any) -> Any:
    """Return a record with the secret in every text that is empty, in whatever fields it has by now."""
    if isinstance(value, tuple):
        return tuple(map(_filled, value))
    if not isinstance(value, BaseModel):
        return value
    fields = type(value).model_fields
    given = {name: getattr(value, name) for name in fields}
    empty = {name for name, one in given.items() if one == "" and fields[name].annotation is str}
    made = {name: SECRET if name in empty else _filled(one) for name, one in given.items()}
    return value.model_copy(update=made)


def test_each_level_tells_more_than_the_one_before() -> None:
    made = told_by_a_run("incorrect")
    texts = [feedback(made, level, ANSWER).text for level in LEVELS]
    assert texts[0] == SENTENCES["incorrect"]
    assert "NUM001" in texts[1]
    assert "int i = blockIdx.x;" not in texts[1]
    assert "line 2: `int i = blockIdx.x;`" in texts[2]
    assert SECRET in texts[3]


def test_a_place_outside_of_the_answer_is_no_line() -> None:
    made = told_by_a_run("incorrect")
    assert "line" not in feedback(made, "line", "one line").text.lower()


def test_every_status_has_words_of_its_own() -> None:
    assert set(SENTENCES) == set(get_args(Status))
    assert len(set(SENTENCES.values())) == len(SENTENCES)


THIEF = relu(
    "x[i]",
    """self.tell(x, module.run(x))

    def tell(self, x, y):
        import os, sys
        seen = " ".join("%.17g" % v for v in x.flatten()[:6].tolist()) + " " + str(torch.initial_seed())
        print(seen, file=sys.stderr)
        raise type("E" + seen, (RuntimeError,), {})(seen + str({k: v for k, v in os.environ.items()}))""",
)
"""Says in every way there is what its inputs are."""


@builds
@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "status"), [(THIEF, "crashed"), (relu("x[i] * 3.0f"), "incorrect")]
)
def test_an_attack_reads_nothing_of_inputs_or_expected_values(answer: str, status: Status) -> None:
    with Grader(Options.model_validate(SIM), seed=1234567890123) as grader:
        graded = grader.look(Answer(text=answer, task="relu"))
    assert graded.reward.status == status
    for level in LEVELS[:-1]:
        told = feedback(graded.assessment, level, answer).text
        numbers = set(re.findall(r"\d+\.\d+|\d{5,}", told)) - set(
            re.findall(r"\d+\.\d+|\d{5,}", answer)
        )
        assert not numbers, (level, told)
    if status == "crashed":
        assert re.search(r"\d\.\d{6,}", str(graded.assessment)), "the attack did say something"
