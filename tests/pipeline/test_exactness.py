"""Exact arithmetic speaks of functions: of a program that was seen to be something else it says nothing."""

from __future__ import annotations

import pytest

from grader.config import Options
from grader.judge.side_effects import probe
from grader.pipeline import open_context
from grader.pipeline.exactness import BY_EARLIER_CALLS, withdraw_exact
from grader.pipeline.review import assess
from grader.records import Evaluation, Evidence, Exact, Sample, Status, Verdict
from grader.store import Store
from tests.attacks import suite

KEPT = probe("order-matters", "on w it was right at first, and is wrong again", "w")


def weighed(status: Status, *probes: Evidence) -> Evaluation:
    exact = Exact(algebraic="equal", workload="w")
    verdict = Verdict(status=status, sentence="-")
    said = Evaluation(
        submission="-", device="sim", sandbox="-", verdict=verdict, probes=probes, exact=exact
    )
    return withdraw_exact(said)


@pytest.mark.parametrize("status", ["rejected", "dishonest", "unsound"])
def test_what_was_said_of_a_program_is_withdrawn_with_its_reason(status: Status) -> None:
    found = weighed(status)
    assert found.exact is not None
    assert found.exact.algebraic == "not applicable"
    assert found.verdict.reasons == (found.exact.sentence,)
    assert f"the program is {status}" in found.exact.sentence


def test_results_that_change_from_call_to_call_are_no_functions() -> None:
    found = weighed("correct", KEPT)
    assert found.exact is not None
    assert KEPT.text in found.exact.sentence
    assert weighed("correct").exact == Exact(algebraic="equal", workload="w")


def test_a_result_kept_by_its_shape_is_right_when_it_is_asked_alone() -> None:
    """A wrong program is `equal` where its formula is right: not where its first call alone is."""
    case = next(one for one in suite.attacks() if one.name == "t04_result_cached_by_shape")
    options = Options(device="sim", exact=True, repair=False, task=case.task)
    sample = Sample(id="kept", origin="-", format="python", text=case.code)
    found = assess(open_context(options, Store(), 7), sample).evaluation
    assert found.verdict.status == "incorrect"
    assert found.exact == Exact(algebraic="not applicable", workload="", reason=BY_EARLIER_CALLS)
