"""A candidate among many is neither timed nor looked at with a device's tools; what is shown is both."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from grader import pipeline
from grader.config import Options
from grader.devices.base import Sanitized
from grader.devices.sim.device import Simulator
from grader.devices.timed import Timed
from grader.pipeline.evaluation import evaluate
from grader.pipeline.examiner import Examiner
from grader.pipeline.repairs import confirm
from grader.records import Repair, Submission
from grader.store import Store
from grader.tasks import builtin_tasks

RIGHT = """
import torch
class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
"""
looks: list[str] = []


class Clocked(Simulator):
    """The simulator with a clock and a tool of its own, as a GPU has them."""

    def time(self, *_: Any) -> Timed:
        looks.append("time")
        return Timed(note="looked at the clock")

    def sanitize(self, *_: Any) -> Sanitized:
        looks.append("sanitize")
        return Sanitized(notes=("looked at with a tool",))


@pytest.fixture
def shop(tmp_path: Path) -> pipeline.GradingContext:
    options = Options(device="sim", repair=False, cache=tmp_path)
    shop = pipeline.open_context(options, Store(tmp_path), 7)
    assert isinstance(shop.device, Simulator)
    looks.clear()
    fields = {f.name: getattr(shop.device, f.name) for f in dataclasses.fields(shop.device)}
    return dataclasses.replace(shop, device=Clocked(**fields))


def test_only_what_is_shown_is_looked_at_closely(shop: pipeline.GradingContext) -> None:
    task = builtin_tasks()["relu"]
    submission = Submission(sample="s", code=RIGHT, line_map=(), how="test")
    attempted = evaluate(shop, submission, task, closely=False)
    assert attempted.verdict.status == "correct"
    assert looks == []
    shown = evaluate(shop, submission, task)
    assert looks == ["time", "sanitize"]
    assert "looked at the clock" in shown.verdict.reasons
    assert evaluate(shop, submission, task) == shown  # kept, and not in the other's place
    assert evaluate(shop, submission, task, closely=False) == attempted
    assert looks == ["time", "sanitize"]


def test_a_fix_is_shown_with_its_own_examination(shop: pipeline.GradingContext) -> None:
    task = builtin_tasks()["relu"]
    submission = Submission(sample="s", code="wrong", line_map=(), how="test")
    attempted = evaluate(shop, submission.model_copy(update={"code": RIGHT}), task, closely=False)
    fixed = Repair(kind="fix", code=RIGHT, evaluation=attempted)
    examiner = Examiner(shop, task)
    shown = confirm(examiner, fixed, submission)
    assert shown.note == ""
    assert shown.repair is not None
    assert "looked at the clock" in shown.repair.evaluation.verdict.reasons
    wrong = RIGHT.replace("torch.relu(x)", "x + 1")
    refused = confirm(examiner, fixed.model_copy(update={"code": wrong}), submission)
    assert refused.repair is None
    assert refused.note.startswith("Not fixed")
