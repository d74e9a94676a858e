"""A sample's time, and what an answer's reward needs: what is left out is said, what is wrong stays wrong."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.config import Options
from grader.pipeline import budget as module
from grader.pipeline import open_context
from grader.pipeline.budget import SHARES, Budget, with_left_out
from grader.pipeline.review import assess
from grader.records import Sample, Verdict
from grader.reward import reward_evaluation
from grader.store import Store
from grader.tasks import builtin_tasks
from tests.whole import ROOT

VERDICT = Verdict(status="correct", sentence="Correct.", reasons=("first",))


def test_time_counts_as_on_an_idle_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = time.monotonic() - 60
    for times, enough in ((1.0, False), (4.0, True)):
        monkeypatch.setattr(module, "crowding", lambda times=times: times)
        assert Budget(30, begun).enough("diagnosis") is enough, times


@given(took=st.lists(st.floats(0, 1), min_size=len(SHARES), max_size=len(SHARES)))
def test_stages_that_keep_to_their_shares_keep_to_the_whole(took: list[float]) -> None:
    """What a stage leaves goes to the next; the last one has all that is left."""
    with pytest.MonkeyPatch.context() as patch:
        now = [100.0]
        patch.setattr(module.time, "monotonic", lambda: now[0])
        patch.setattr(module, "crowding", lambda: 1.0)
        budget = Budget(60, now[0])
        for stage, part in zip(SHARES, took, strict=True):
            now[0] += part * budget.seconds_left(stage)
        assert now[0] <= 160 + 1e-6
        now[0] = 100.0
        assert budget.seconds_left(*SHARES) == budget.seconds_left("build") == pytest.approx(60)


def test_what_is_left_out_is_said() -> None:
    assert with_left_out(VERDICT, 60, ()) == VERDICT
    told = with_left_out(VERDICT, 60, ("the call at full size",)).reasons
    assert told == (
        "first",
        "Left out, as a sample has 60 seconds: the call at full size.",
    )


def _assessed(name: str, room: Path, **options: object):
    chosen = Options(device="sim", timing=False, **options)
    grading = open_context(chosen, Store(room / "store"), 3)
    text = (ROOT / "samples" / name).read_text("utf-8")
    sample = Sample(id="one", origin=name, format="transcript", text=text)
    hint = {"l1_norm_tail.txt": "l1-norm-sum", "softmax_slow.txt": "softmax"}[name]
    return assess(grading, sample, builtin_tasks()[hint])


def test_a_wrong_answer_is_settled_by_its_smallest_workload(tmp_path: Path) -> None:
    early = _assessed("l1_norm_tail.txt", tmp_path, settle_early=True).evaluation
    whole = _assessed("l1_norm_tail.txt", tmp_path).evaluation
    assert early.verdict.status == whole.verdict.status == "incorrect"
    assert len(early.runs) < len(whole.runs)
    assert reward_evaluation(early).parts == reward_evaluation(whole).parts


def test_without_time_a_right_answer_is_right_and_says_what_was_left_out(tmp_path: Path) -> None:
    verdict = _assessed("softmax_slow.txt", tmp_path, sample_seconds=1e-6).evaluation.verdict
    assert verdict.status == "correct"
    assert "Left out" in verdict.reasons[-1]
    assert "the call at full size, the runs in another order" in verdict.reasons[-1]


def test_time_that_is_spent_in_a_look_leaves_out_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Budget, "enough", lambda _budget, stage: stage != "full size")
    verdict = _assessed("softmax_slow.txt", tmp_path).evaluation.verdict
    assert verdict.status == "correct"
    assert verdict.reasons[-1].endswith("60 seconds: the values at full size.")
