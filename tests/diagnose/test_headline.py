"""What a person repeats of a verdict: the cause with its line, then the numbers."""

import pytest

from grader.diagnose.headline import RUNS_SHOW_MORE, headline
from grader.records import Evidence, EvidenceKind, Finding, Place, Status, Verdict

FAILED = Verdict(
    status="build_failed",
    sentence="The build fails: line 28: ptxas: Entry function '_Z4kernPf' uses too much shared data.",
    compiled=False,
)
PTXAS = Evidence(kind="ptxas", code="shared", text="Entry function uses too much shared data.")
SHARED = Finding(
    rule="BLD009",
    name="static-shared-over-48k",
    severity="error",
    confidence="proven",
    message="row gives softmax_kernel 98432 bytes of shared memory; a block may have 49152",
    place=Place(line=31, end_line=31),
    evidence=(PTXAS,),
)
SAID = "Line 31: row gives softmax_kernel 98432 bytes of shared memory; a block may have 49152."


def proven(kind: EvidenceKind, code: str, message: str = "`total` is never set") -> Finding:
    seen = Evidence(kind=kind, code=code, text="A thread did something.")
    return SHARED.model_copy(update={"message": message, "evidence": (seen,)})


def ended(status: Status) -> Verdict:
    return Verdict(status=status, sentence="It went wrong in numbers.", compiled=True)


def test_the_finding_that_explains_a_build_says_it_first() -> None:
    race = proven("simulator", "race")
    told = headline(FAILED, [race, SHARED])
    assert told.sentence == SAID
    assert told.reasons == (FAILED.sentence,)
    assert (told.status, told.cause) == ("build_failed", 1)


def test_a_message_that_no_rule_explains_stays_as_it_is() -> None:
    unexplained = SHARED.model_copy(update={"rule": "BLD015", "message": PTXAS.text})
    for other in (
        unexplained,
        SHARED.model_copy(update={"confidence": "likely"}),
        SHARED.model_copy(update={"severity": "warning"}),
        SHARED.model_copy(update={"evidence": ()}),
        SHARED.model_copy(update={"after_fix": ("add a header",)}),
    ):
        assert headline(FAILED, [other]) == FAILED


@pytest.mark.parametrize(
    ("status", "cause", "other"),
    [
        ("crashed", ("python", "raised"), ("simulator", "race")),
        ("crashed", ("sanitizer", "out-of-bounds"), ("simulator", "race")),
        ("hung", ("simulator", "deadlock"), ("simulator", "race")),
        ("incorrect", ("mismatch", "from-index-on"), ("simulator", "race")),
        ("incorrect", ("simulator", "uninit-shared-read"), ("ptxas", "spills")),
        ("incorrect", ("provenance", "missing"), ("ptxas", "spills")),
        ("unsound", ("simulator", "race"), ("mismatch", "from-index-on")),
        ("no_task", ("simulator", "race"), ("mismatch", "zeros")),
    ],
)
def test_what_shows_the_cause_leads_wherever_it_stands(
    status: Status, cause: tuple[EvidenceKind, str], other: tuple[EvidenceKind, str]
) -> None:
    findings = [proven(*other, message="something else"), proven(*cause)]
    told = headline(ended(status), findings)
    assert told.sentence == "Line 31: `total` is never set."
    assert told.cause == 1


def test_the_numbers_become_the_second_line() -> None:
    verdict = ended("incorrect").model_copy(update={"reasons": ("more",)})
    told = headline(verdict, [proven("mismatch", "zeros")])
    assert told.reasons == ("It went wrong in numbers.", "more")


def test_what_an_unsound_program_proves_is_not_said_twice() -> None:
    verdict = ended("unsound").model_copy(update={"reasons": ("by luck", "line 31, a race")})
    told = headline(verdict, [proven("simulator", "race")])
    assert told.reasons == verdict.reasons


def test_a_cause_without_a_line_is_a_sentence() -> None:
    one = proven("mismatch", "zeros", "nothing stores a result").model_copy(update={"place": None})
    assert headline(ended("incorrect"), [one]).sentence == "Nothing stores a result."


def test_a_line_that_begins_the_message_is_named_once() -> None:
    one = proven("simulator", "race", "line 31 overwrites `x`")
    assert headline(ended("unsound"), [one]).sentence == "Line 31 overwrites `x`."


@pytest.mark.parametrize("status", ["correct", "grader_error", "timeout"])
def test_other_verdicts_have_their_own_sentence(status: Status) -> None:
    assert headline(ended(status), [proven("simulator", "race")]) == ended(status)


@pytest.mark.parametrize(
    ("levels", "said"),
    [
        (("warning", "warning", "note"), "2 warnings in its text"),
        (("error", "warning"), "1 error and 1 warning in its text"),
        (("note",), "no error or warning in its text"),
    ],
)
def test_a_text_that_was_only_read_is_said_to_be_read(levels: tuple[str, ...], said: str) -> None:
    verdict = Verdict(status="not_run", sentence="It was neither built nor run: as asked.")
    found = [SHARED.model_copy(update={"severity": level}) for level in levels]
    told = headline(verdict, found, read_only=True)
    assert told.sentence == f"Read, not run: {said}."
    assert told.reasons == (verdict.sentence, RUNS_SHOW_MORE)


def test_what_could_not_be_run_says_why() -> None:
    verdict = Verdict(status="not_run", sentence="Triton is not installed here.")
    assert headline(verdict, [SHARED]) == verdict


def test_what_was_built_and_not_run_says_why() -> None:
    verdict = ended("not_run")
    assert headline(verdict, [SHARED]) == verdict


def test_what_a_verified_fix_settles_leads_though_no_run_shows_it() -> None:
    likely = proven("mismatch", "zeros", "`best` starts at 0").model_copy(
        update={"rule": "RED005", "confidence": "likely", "evidence": ()}
    )
    found = [proven("mismatch", "zeros", "every result is zero"), likely]
    assert headline(ended("incorrect"), found).cause == 0
    told = headline(ended("incorrect"), found, {"RED005"})
    assert (told.cause, told.sentence) == (1, "Line 31: `best` starts at 0.")


def test_an_unproven_error_says_wrong_values_as_likely() -> None:
    likely = SHARED.model_copy(update={"confidence": "likely", "message": "`best` starts at 0"})
    told = headline(ended("incorrect"), [likely])
    assert told.sentence == "Line 31, most likely: `best` starts at 0."
    assert headline(ended("dishonest"), [likely]).cause is None
    for_want_of_better = likely.model_copy(update={"last_resort": True})
    assert headline(ended("incorrect"), [for_want_of_better]).cause is None


def test_what_shows_at_other_sizes_alone_is_no_cause_of_wrong_values() -> None:
    def on(workload: str, message: str) -> Finding:
        found = proven("mismatch", "shape", message)
        (seen,) = found.evidence
        return found.model_copy(
            update={"evidence": (seen.model_copy(update={"workload": workload}),)}
        )

    found = [on("1x1", "another shape"), on("64x64", "every result is zero")]
    assert headline(ended("incorrect"), found, (), {"1x1"}).cause == 1
    right = ended("correct").model_copy(update={"general": False})
    told = headline(right, found, (), {"1x1"})
    assert told.sentence == (
        "Correct at the sizes that decide, but not at others. Line 31: another shape."
    )
    assert (told.cause, told.reasons) == (0, ("It went wrong in numbers.",))
    assert headline(ended("correct"), found, (), {"1x1"}).cause is None
