"""What a person repeats of a failed build."""

from grader.diagnose import headline
from grader.records import Evidence, Finding, Place, Verdict

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


def test_the_finding_that_explains_it_says_it() -> None:
    told = headline(FAILED, [SHARED])
    assert told.sentence.startswith(
        "The build fails: line 31: row gives softmax_kernel 98432 bytes"
    )
    assert told.reasons == (FAILED.sentence,)
    assert told.status == "build_failed"


def test_a_message_that_no_rule_explains_stays_as_it_is() -> None:
    unexplained = SHARED.model_copy(update={"rule": "BLD015", "message": PTXAS.text})
    for other in (
        unexplained,
        SHARED.model_copy(update={"confidence": "likely"}),
        SHARED.model_copy(update={"evidence": ()}),
        SHARED.model_copy(update={"after_fix": ("add a header",)}),
    ):
        assert headline(FAILED, [other]) == FAILED


def test_what_explains_an_exception_says_it() -> None:
    raised = FAILED.model_copy(
        update={
            "status": "crashed",
            "sentence": "It builds, but on 8x3 it raises: TypeError: run(): ...",
        }
    )
    python = Evidence(kind="python", code="raised", text="TypeError: run(): incompatible ...")
    message = "run takes torch::Tensor bias, and this passes self.bias, which is None"
    wrong = SHARED.model_copy(update={"rule": "API004", "message": message, "evidence": (python,)})
    told = headline(raised, [SHARED, wrong])
    assert told.sentence == f"It builds, but raises: line 31: {message}."
    assert told.reasons == (raised.sentence,)


def test_other_verdicts_have_their_own_sentence() -> None:
    right = FAILED.model_copy(update={"status": "correct", "sentence": "Correct."})
    assert headline(right, [SHARED]) == right
