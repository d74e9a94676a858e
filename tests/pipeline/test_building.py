"""A build that begins while its task is described is the one that is waited for."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from grader.config import Options
from grader.pipeline.building import build_meanwhile, build_on
from grader.pipeline.context import GradingContext
from grader.records import Build, Submission, Task
from grader.sandbox import strongest
from grader.store import Store

CALL = "load_inline(name='n', cpp_sources='', cuda_sources='')"
AT_IMPORT = f"from torch.utils.cpp_extension import load_inline\nmodule = {CALL}\n"
WHEN_CONSTRUCTED = (
    "from torch.utils.cpp_extension import load_inline\nclass ModelNew:\n    def __init__(self):\n"
    f"        self.module = {CALL}\n"
)
DRAFT = Task(name="t", title="t", source="embedded", reference="", workloads=())


class Compiler:
    """A device whose builds end when they are let."""

    name = "sim"

    def __init__(self) -> None:
        self.began, self.go = threading.Event(), threading.Event()
        self.running = self.most = 0
        self.ended: list[str] = []

    def build_key(self, submission: Submission) -> str:
        return submission.key

    def build(self, submission: Submission, _init: object) -> Build:
        self.running += 1
        self.most = max(self.most, self.running)
        self.began.set()
        assert self.go.wait(20)
        self.running -= 1
        self.ended.append(submission.code)
        return Build(status="failed", device="sim")


@pytest.fixture
def grading(tmp_path: Path) -> GradingContext:
    device: Any = Compiler()
    return GradingContext(Options(device="sim"), Store(tmp_path), 1, strongest(), device)


def test_it_is_waited_for(grading: GradingContext) -> None:
    device: Any = grading.device
    program = Submission(sample="s", code=AT_IMPORT, line_map=(), how="test")
    build_meanwhile(grading, program, DRAFT)
    assert device.began.wait(20)
    threading.Timer(0.05, device.go.set).start()
    build_on(grading, device, program, None)
    assert device.ended == [AT_IMPORT, AT_IMPORT]  # the second finds the first one's record
    assert device.most == 1


def test_a_constructor_waits_for_its_arguments(grading: GradingContext) -> None:
    device: Any = grading.device
    program = Submission(sample="s", code=WHEN_CONSTRUCTED, line_map=(), how="test")
    build_meanwhile(grading, program, DRAFT)
    assert not device.began.wait(0.1)


def test_one_that_was_not_done_in_time_is_not_begun_again(grading: GradingContext) -> None:
    device: Any = grading.device
    device.go.set()
    late = Build(status="timeout", device="sim", reason="not done within 120 s")
    device.build = lambda submission, _init: device.ended.append(submission.code) or late
    program = Submission(sample="s", code=AT_IMPORT, line_map=(), how="test")
    assert [build_on(grading, device, program, None) for _ in range(2)] == [late, late]
    assert len(device.ended) == 1
