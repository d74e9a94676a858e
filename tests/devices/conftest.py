"""A device of this machine, and one submission that does many things, each on its own workload."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from grader import judge, sandbox
from grader.config import Options
from grader.devices import Device, RunResult
from grader.devices.sim.device import open_simulator
from grader.errors import GraderError
from grader.execution.reference import reference
from grader.records import Build, Comparison, Submission, Task, TensorSpec, Workload
from grader.store import Store

CODE = (Path(__file__).parent / "submission.py.txt").read_text()
REFERENCE = """
import torch.nn as nn
class Model(nn.Module):
    def forward(self, x, mode):
        return x * 2
"""
WAYS = (*range(18), *range(19, 40))


def a_task(ways: tuple[int, ...]) -> Task:
    return Task(
        name="double",
        title="twice the input",
        source="file",
        reference=REFERENCE,
        workloads=tuple(
            Workload(name=f"way {way}", role="nominal", inputs=(TensorSpec(shape=(10, 100)), way))
            for way in ways
        ),
    )


def a_submission(code: str) -> Submission:
    return Submission(sample="s", code=code, line_map=(0,) * len(code.splitlines()), how="test")


@pytest.fixture(scope="session")
def device(tmp_path_factory: pytest.TempPathFactory) -> Device:
    form = sandbox.strongest()
    store = Store(tmp_path_factory.mktemp("store"))
    try:
        return open_simulator(
            Options(device="sim", run_seconds=120), form, store, lambda _what: None
        )
    except GraderError as error:
        pytest.skip(f"the simulator can't be prepared here: {error}")


@pytest.fixture(scope="session")
def build(device: Device) -> Build:
    return device.build(a_submission(CODE), ())


Outcome = tuple[RunResult, Comparison | None]


@pytest.fixture(scope="session")
def outcomes(device: Device, build: Build) -> dict[int, Outcome]:
    """What became of each way; a list to each device.run, since some of them end the process."""
    form, found = device.form, {}  # type: ignore[attr-defined]
    ending = (4, 11, 16, 17)
    for ways in (tuple(way for way in WAYS if way not in ending), *((way,) for way in ending)):
        task = a_task(ways)
        known = reference(task, task.workloads, 1, form, sandbox.Limits(wall=60))
        results = device.run(a_submission(CODE), build, task, known)
        for way, workload, result in zip(ways, task.workloads, results, strict=True):
            ran = result.run.status == "ran"
            found[way] = (result, judge.compare(task, workload, known, result) if ran else None)
    return found


@pytest.fixture
def way(outcomes: dict[int, Outcome]) -> Callable[[int], Outcome]:
    return outcomes.__getitem__
