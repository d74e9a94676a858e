"""What a transcript claims of its code: true, false with the finding that shows it, or not checked."""

from __future__ import annotations

from typing import Any

import pytest

from grader.diagnose.claims import check_claims
from grader.records import (
    Claim,
    Comparison,
    Evaluation,
    Evidence,
    Extraction,
    Finding,
    Mismatch,
    Place,
    Prose,
    Run,
    Verdict,
)
from grader.source import parse

CODE = '''
source = """
__global__ void k(float* y) {
    __shared__ float part[32];
    part[threadIdx.x] = 1.0f;
    y[threadIdx.x] = part[threadIdx.x];
}
"""
'''


def check(
    words: str, *findings: Finding, ran: bool = True, before: bool = False, **verdict: bool
) -> tuple[Claim, ...]:
    extraction = Extraction(
        submission=None, prose=(Prose(line=10, text=words, before_code=before),)
    )
    evaluation = Evaluation(
        submission="",
        device="sim",
        sandbox="none",
        runs=(Run(workload="w", status="ran" if ran else "crashed", device="sim"),),
        verdict=Verdict(status="correct", sentence="It is right.", **verdict),
    )
    return check_claims(extraction, parse(CODE), evaluation, findings)


def strided() -> Finding:
    return Finding(
        rule="PRF002",
        name="strided-access-between-lanes",
        severity="warning",
        confidence="proven",
        message="lanes are 4 KB apart",
        place=Place(line=5, end_line=5),
    )


def test_a_claim_is_false_where_a_finding_contradicts_it() -> None:
    (claim,) = check("Fine.\nAll accesses are coalesced.", strided())
    assert (claim.line, claim.outcome) == (11, "false")
    assert (
        claim.because
        == "coalescing: PRF002 strided-access-between-lanes (line 5): lanes are 4 KB apart"
    )


@pytest.mark.parametrize(("ran", "outcome"), [(True, "true"), (False, "not checked")])
def test_what_did_not_run_shows_nothing(ran: bool, outcome: str) -> None:
    (claim,) = check("All accesses are coalesced.", ran=ran)
    assert claim.outcome == outcome


@pytest.mark.parametrize(
    ("words", "outcome"),
    [
        ("It uses shared memory to save traffic.", "true"),
        ("Warp shuffle instructions are used.", "false"),
        ("It handles any size of input.", "not checked"),
        ("This gives a 4x speedup.", "not checked"),
        ("It took 2.4x less on the GPU.", "not checked"),
    ],
)
def test_what_the_text_can_tell(words: str, outcome: str) -> None:
    (claim,) = check(words)
    assert claim.outcome == outcome


def test_sizes_and_results_are_held_against_the_verdict() -> None:
    words = "It works for arbitrary shapes. The output is identical to PyTorch."
    right = check(words, general=True, correct=True)
    wrong = check(words, general=False, correct=False)
    assert [claim.outcome for claim in right] == ["true", "true"]
    assert [claim.outcome for claim in wrong] == ["false", "false"]


def test_the_prompt_claims_nothing_and_each_kind_counts_once() -> None:
    assert check("All accesses are coalesced.", before=True) == ()
    assert len(check("Loads are coalesced. Stores are coalesced too.")) == 1


@pytest.mark.parametrize(
    "words",
    [
        "I believe the partial sums are never stored to shared memory, so that needs another look.",
        "The shared memory is not correctly managed.",
        "No shared memory is needed.",
        "It works without warp shuffles.",
        "I ran it on the target mi300x today.",
    ],
)
def test_doubts_and_denials_are_no_claims(words: str) -> None:
    assert check(words) == ()


def test_read_once_is_held_against_the_passes_over_memory() -> None:
    again = strided().model_copy(update={"rule": "PRF004", "severity": "note"})
    (claim,) = check("Each row is read from global memory exactly once, into shared memory.", again)
    assert claim.outcome == "false"


def seen(code: str, workload: str = "w") -> Run:
    evidence = Evidence(
        kind="simulator",
        code=code,
        text="thread 7 does it.",
        place=Place(line=5, end_line=5),
        workload=workload,
    )
    return Run(workload=workload, status="ran", device="sim", evidence=(evidence,))


def outcomes(words: str, *runs: Run, device: Any = "sim") -> dict[str, str]:
    """Return what becomes of each claim in the words, by what it is about."""
    evaluation = Evaluation(
        submission="",
        device=device,
        sandbox="none",
        runs=runs or (Run(workload="w", status="ran", device="sim"),),
        verdict=Verdict(status="correct", sentence="It is right.", general=True, correct=True),
    )
    prose = (Prose(line=10, text=words, before_code=False),)
    extraction = Extraction(submission=None, prose=prose)
    claims = check_claims(extraction, parse(CODE), evaluation, ())
    return {claim.because.split(":")[0]: claim.outcome for claim in claims}


ABSENT = [
    (
        "Every barrier that is needed is there, which keeps the kernel free of races.",
        "races",
        "race",
    ),
    ("There are no data races between warps.", "races", "global-race"),
    ("Boundary checks take care of the edges.", "bounds", "out-of-bounds"),
    ("Threads do not read out of bounds.", "bounds", "shared-out-of-bounds"),
    ("The accumulators are properly initialized.", "initial values", "uninit-local-read"),
]


@pytest.mark.parametrize(("words", "about", "code"), ABSENT)
def test_what_a_run_of_any_size_saw_refutes_a_claim(words: str, about: str, code: str) -> None:
    assert outcomes(words) == {about: "true"}
    assert outcomes(words, seen(code, "some other size")) == {about: "false"}
    assert outcomes(words, seen("input-changed")) == {about: "true"}
    assert outcomes(words, device="cuda") == {about: "not checked"}


def test_one_sentence_may_make_several_claims() -> None:
    words = "Bounds checks and barriers make it safe for irregular shapes."
    assert outcomes(words) == {"races": "true", "bounds": "true", "other sizes": "true"}
    found = outcomes(words, seen("race"))
    assert found == {"races and other sizes": "false", "bounds": "true"}


def test_what_was_not_looked_after_is_no_assurance() -> None:
    assert outcomes("I did not check for out-of-bounds reads.") == {}


@pytest.mark.parametrize(("kind", "outcome"), [("nonfinite", "false"), ("values", "not checked")])
def test_stability_is_held_against_the_inputs_that_strain_it(kind: Any, outcome: str) -> None:
    wrong = Comparison(
        workload="large",
        role="stress",
        equal=False,
        decides=True,
        mismatch=Mismatch(kind=kind, text="NaN came back"),
    )
    evaluation = Evaluation(
        submission="",
        device="sim",
        sandbox="none",
        runs=(Run(workload="large", status="ran", device="sim"),),
        comparisons=(wrong,),
        verdict=Verdict(status="incorrect", sentence="It is wrong."),
    )
    prose = (
        Prose(line=10, text="Subtracting the row maximum keeps exp finite.", before_code=False),
    )
    (claim,) = check_claims(Extraction(submission=None, prose=prose), parse(CODE), evaluation, ())
    assert claim.outcome == outcome


@pytest.mark.parametrize(
    ("words", "about"),
    [
        ("All image sizes are supported.", "other sizes"),
        ("Any number of rows is supported because the grid is rounded up.", "other sizes"),
        ("All tail elements are covered by the grid.", "other sizes"),
        ("The loss is averaged exactly as in PyTorch.", "results"),
        ("GELU matches torch to within rounding.", "results"),
    ],
)
def test_claims_in_other_words(words: str, about: str) -> None:
    (claim,) = check(words, general=True, correct=True)
    assert (claim.outcome, claim.because.split(":")[0]) == ("true", about)


@pytest.mark.parametrize(
    "words",
    ["The buffer is enough for any block size.", "It works with any number of threads per block."],
)
def test_the_size_of_a_launch_is_no_size_of_the_task(words: str) -> None:
    assert not check(words, general=True, correct=True)


def test_what_one_sentence_claims_twice_and_one_run_refutes_is_said_once() -> None:
    seen = Evidence(kind="simulator", code="out-of-bounds", text="A thread reads past the end.")
    extraction = Extraction(
        submission=None,
        prose=(Prose(line=3, text="Bounds are checked, so any size works.", before_code=False),),
    )
    evaluation = Evaluation(
        submission="",
        device="sim",
        sandbox="none",
        runs=(Run(workload="w", status="ran", device="sim", evidence=(seen,)),),
        verdict=Verdict(status="unsound", sentence="It is luck."),
    )
    (claim,) = check_claims(extraction, parse(CODE), evaluation, ())
    assert claim.because == "bounds and other sizes: A thread reads past the end."


def test_what_is_claimed_of_the_result_is_checked_beside_an_absent_hazard() -> None:
    said = check("No thread reads out of bounds, and the result matches PyTorch.", correct=False)
    assert [(one.outcome, one.because.split(":")[0]) for one in said] == [
        ("true", "bounds"),
        ("false", "results"),
    ]
