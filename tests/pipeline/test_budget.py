"""A sample's time, and what an answer's reward needs: what is left out is said, what is wrong stays wrong."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from grader.config import Options
from grader.pipeline import budget as module
from grader.pipeline import open_context
from grader.pipeline.budget import Budget, with_left_out
from grader.pipeline.review import assess
from grader.records import Sample, Verdict
from grader.store import Store
from grader.tasks import builtin_tasks
from tests.whole import ROOT

VERDICT = Verdict(status="correct", sentence="Correct.", reasons=("first",))


def test_time_counts_as_on_an_idle_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = time.monotonic() - 60
    monkeypatch.setattr(module, "cores", lambda: 2)
    for load, spent in ((0.0, True), (2.0, True), (8.0, False)):
        monkeypatch.setattr(module.os, "getloadavg", lambda load=load: (load, 0, 0))
        assert Budget(30, begun).spent is spent, load


def test_what_is_left_out_is_said() -> None:
    assert with_left_out(VERDICT, 60, ()) == VERDICT
    told = with_left_out(VERDICT, 60, ("the call at full size",)).reasons
    assert told == (
        "first",
        "Left out, as the 60 seconds of a sample were spent: the call at full size.",
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


def test_without_time_a_right_answer_is_right_and_says_what_was_left_out(tmp_path: Path) -> None:
    verdict = _assessed("softmax_slow.txt", tmp_path, sample_seconds=1e-6).evaluation.verdict
    assert verdict.status == "correct"
    assert "Left out" in verdict.reasons[-1]
    assert "the call at full size, the runs in another order" in verdict.reasons[-1]


def test_time_that_is_spent_in_a_look_leaves_out_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = iter(
        (False, False, True)
    )  # before the call at full size, before the runs in another order, after those
    monkeypatch.setattr(Budget, "spent", property(lambda _budget: next(asked)))
    verdict = _assessed("softmax_slow.txt", tmp_path).evaluation.verdict
    assert verdict.status == "correct"
    assert verdict.reasons[-1].endswith("were spent: the values at full size.")
