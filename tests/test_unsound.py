"""Labelled programs whose values come out right, graded whole on the simulator: sound ones, and those right by luck."""

from __future__ import annotations

from dataclasses import replace

import pytest

from grader import build as building
from grader.config import Options
from grader.pipeline import GradingContext, open_context
from grader.pipeline.review import assess
from grader.pipeline.review import review as reviewed
from grader.records import Review, Sample
from grader.reward import reward_evaluation
from grader.store import Store
from tests.corpus import corpus
from tests.whole import ENOUGH_FOR_RUNS

LABELS = {label.name: label for label in (*corpus.originals(), *corpus.mutants())}
LUCKY = {
    "matmul_tiled--load-then-guard": "memory is accessed out of bounds",
    "softmax_tree--drop-barrier-3": "a data race on shared memory",
    "uniform_factor_mean--racing-stores": "a data race on shared memory",
    "uniform_factor_mean--unwritten-branch": "shared memory that nobody has written is used",
    "gelu_vec4--write-input": "line 24, the caller's data is overwritten",
}
pytestmark = pytest.mark.skipif(not building.discover().builds, reason="can't build here")


@pytest.fixture(scope="module")
def shop() -> GradingContext:
    return open_context(
        Options(device="sim", repair=False, sample_seconds=ENOUGH_FOR_RUNS), Store(), 20260101
    )


def sample_of(name: str) -> Sample:
    return Sample(id=name, origin=name, format="python", text=LABELS[name].code)


def graded(shop: GradingContext, name: str, *, repair: bool = False) -> Review:
    own = {"task": LABELS[name].task, "repair": repair}
    return reviewed(replace(shop, options=shop.options.model_copy(update=own)), sample_of(name))


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(LUCKY))
def test_right_values_by_luck(shop: GradingContext, name: str) -> None:
    review, label = graded(shop, name), LABELS[name]
    assert review.verdict.status == "unsound", review.verdict
    assert review.verdict.sentence.startswith("Line ")
    assert any(LUCKY[name] in reason for reason in review.verdict.reasons)
    assert all(item.equal for item in review.evaluation.comparisons if item.decides)
    errors = [finding for finding in review.findings if finding.severity == "error"]
    proven = [finding for finding in errors if finding.confidence == "proven"]
    named = [one for one in proven if {one.rule, *one.also} & set(label.rules)]
    assert any(one.place and one.place.line in label.lines for one in named), errors


@pytest.mark.slow
def test_stores_of_one_value_are_benign(shop: GradingContext) -> None:
    review = graded(shop, "uniform_factor_mean")
    assert (review.verdict.status, review.verdict.general) == ("correct", True), review.verdict
    assert not [finding for finding in review.findings if finding.severity == "error"]
    assert any("benign: whichever store is the last" in reason for reason in review.verdict.reasons)
    told = [finding for finding in review.findings if finding.rule == "SYN002"]
    assert [(one.severity, one.confidence) for one in told] == [("note", "proven")]


@pytest.mark.slow
def test_a_misaligned_access_stops_the_run(shop: GradingContext) -> None:
    assert graded(shop, "gelu_vec4--misaligned").verdict.status == "crashed"


@pytest.mark.slow
def test_a_repair_of_what_is_unsound_is_sound(shop: GradingContext) -> None:
    review = graded(shop, "softmax_tree--drop-barrier-3", repair=True)
    fix = next((one for one in review.repairs if one.kind == "fix"), None)
    assert fix is not None, review.repair_note
    assert fix.evaluation.verdict.status == "correct"
    assert "__syncthreads" in fix.diff


@pytest.mark.slow
def test_a_trainer_is_told_where_and_why(shop: GradingContext) -> None:
    name = "softmax_tree--drop-barrier-3"
    options = shop.options.model_copy(update={"task": LABELS[name].task})
    made = assess(replace(shop, options=options), sample_of(name))
    reward = reward_evaluation(made.evaluation, findings=made.findings)
    assert (reward.status, reward.parts) == ("unsound", {"unsound": 0.4})
    error = next(one for one in reward.findings if one.severity == "error")
    assert (error.rule, error.line in LABELS[name].lines) == ("SYN002", True)
