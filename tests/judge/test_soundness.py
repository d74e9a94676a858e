"""Right values that undefined behaviour left to luck: `unsound`, and never `correct` beside an error."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from grader.judge import in_keeping, verdict
from grader.judge.side_effects import probe
from grader.judge.soundness import BENIGN, SANITIZER, UNDEFINED, proves_undefined
from grader.records import (
    Build,
    Comparison,
    Evaluation,
    Evidence,
    Finding,
    Place,
    Race,
    Review,
    Run,
    Task,
    TaskSummary,
    TensorSpec,
    Verdict,
    Workload,
)
from grader.rules.proofs import FORGIVEN
from grader.simulator.wording import KINDS, OF_THE_HOST

ROLES = {"n": "nominal", "s": "stress", "g": "general"}
TASK = Task(
    name="t",
    title="t",
    source="builtin",
    reference="",
    workloads=tuple(
        Workload(name=name, role=role, inputs=(TensorSpec(shape=(4,)),))
        for name, role in ROLES.items()
    ),
)
ENDS = {"deadlock", "grid-deadlock", "livelock", "assert", "trap", "stack-overflow"}
"""A run that shows these gave no values."""
OTHER = {"input-written": "the host looks whether the argument holds other values afterwards"}


def seen(code: str, *, kind: str = "simulator", on: str = "n", line: int = 12) -> Evidence:
    place = Place(line=line, end_line=line) if line else None
    return Evidence(kind=kind, code=code, text=f"{code} was seen.", place=place, workload=on)


def judged(evidence: Sequence[Evidence] = (), *, equal: bool = True, **more: object) -> Verdict:
    runs = tuple(
        Run(
            workload=name,
            device="sim",
            status="ran",
            evidence=tuple(item for item in evidence if item.workload == name),
        )
        for name in ROLES
    )
    comparisons = tuple(
        Comparison(workload=n, role=r, equal=equal or r == "general") for n, r in ROLES.items()
    )
    build = Build(status="built", device="sim")
    return verdict(task=TASK, build=build, runs=runs, comparisons=comparisons, **more)


def test_every_kind_that_the_simulator_knows_is_weighed() -> None:
    known = set(KINDS) | {"unwritten-output"}
    assert known == (set(UNDEFINED) - {"input-changed"}) | set(BENIGN) | ENDS | set(OTHER)
    assert set(OF_THE_HOST) - known  # a launch that fails and a pointer of the host's end the run
    assert set(BENIGN) >= FORGIVEN
    assert not set(UNDEFINED) & set(BENIGN)
    assert set(UNDEFINED) >= SANITIZER


@pytest.mark.parametrize("code", sorted(set(UNDEFINED) - {"input-changed"}))
def test_right_values_beside_undefined_behaviour_are_luck(code: str) -> None:
    found = judged([seen(code), seen(code, on="s")])
    assert (found.status, found.correct, found.general) == ("unsound", False, False)
    assert found.sentence.startswith(f"Line 12, {UNDEFINED[code]}: {code} was seen")
    assert found.honest
    assert judged([seen(code)], equal=False).status == "incorrect"
    assert judged([seen(code)], dishonest=("It cheats.",)).status == "dishonest"


@pytest.mark.parametrize("code", sorted(BENIGN))
def test_what_changes_no_result_is_benign_and_named_so(code: str) -> None:
    found = judged([seen(code)])
    assert (found.status, found.general) == ("correct", True)
    assert found.reasons == (f"line 12, {code} was seen; benign: {BENIGN[code]}",)


def test_an_argument_that_is_changed_is_unsound_without_any_line() -> None:
    changed = (probe("input-changed", "forward changes argument 1 in place", "n"),)
    found = judged(probes=changed)
    assert found.status == "unsound"
    assert found.sentence.startswith("The caller's data is overwritten: forward changes argument 1")
    written = judged([seen("input-written")], probes=changed)
    assert written.sentence.startswith("Line 12, the caller's data is overwritten")
    assert judged([seen("input-written")]).status == "correct", "it holds the same values"


def test_at_other_sizes_alone_it_is_correct_and_not_general() -> None:
    race = [seen("race", on="g")]
    found = judged(race)
    assert (found.status, found.general) == ("correct", False)
    assert "not in general: on g, line 12, a data race" in found.sentence
    assert judged(race, shapes="any").status == "unsound"
    assert judged([*race, seen("misaligned")]).status == "unsound"


def test_what_a_tool_can_not_know_proves_nothing() -> None:
    assert proves_undefined(seen("race", kind="sanitizer"))
    within_a_warp = seen("race", kind="sanitizer").model_copy(
        update={"details": Race(within_warp=True)}
    )
    assert not proves_undefined(within_a_warp)
    assert not proves_undefined(seen("uninit-global-read", kind="sanitizer"))
    assert not proves_undefined(seen("race", kind="text"))


def finding(severity: str, confidence: str) -> Finding:
    return Finding(
        rule="MEM001", name="x", severity=severity, confidence=confidence, message="It reads on."
    )


findings = st.lists(
    st.builds(
        finding,
        st.sampled_from(["error", "warning", "note"]),
        st.sampled_from(["proven", "likely", "possible"]),
    ),
    max_size=4,
).map(tuple)


def review(status: str, found: tuple[Finding, ...]) -> Review:
    said = Verdict(status=status, sentence="So it is.")
    return Review(
        sample="a",
        origin="a.md",
        format="transcript",
        text="",
        code=None,
        task=TaskSummary(name=None, source="none", reason=""),
        evaluation=Evaluation(submission="x", device="sim", sandbox="none", verdict=said),
        findings=found,
    )


@given(findings)
def test_no_review_is_correct_beside_an_error(found: tuple[Finding, ...]) -> None:
    correct, unsound = (Verdict(status=s, sentence="") for s in ("correct", "unsound"))
    kept = in_keeping(correct, found)
    assert review("correct", kept).findings == kept
    assert [one.message for one in kept] == [one.message for one in found]
    changed = [(a, b) for a, b in zip(found, kept, strict=True) if a != b]
    assert all(a.severity == "error" and b.severity == "warning" for a, b in changed)
    assert not any(b.confidence == "proven" for _, b in changed)
    assert in_keeping(unsound, found) == found
    if any(one.severity == "error" for one in found):
        with pytest.raises(ValidationError, match="MEM001"):
            review("correct", found)
