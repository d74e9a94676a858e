"""A failure is charged where a plain guest shows it as well; on the simulator, whose guests are the same."""

from __future__ import annotations

import pytest

from grader import execution, sandbox
from grader.devices import Device, RunResult
from grader.devices.cuda.plain_guest import PlainGuest
from grader.devices.guests import GuestDevice
from grader.records import Build, Submission, Task, TensorSpec, Workload

REFERENCE = """
import torch
class Model(torch.nn.Module):
    def forward(self, x, way):
        return x * 2
"""
PROGRAM = """
import sys
import torch

WATCHED = sys.argv == ["guest"]  # what our guests leave there before they run a program

class ModelNew(torch.nn.Module):
    def forward(self, x, way):
        if way == "fails" or (WATCHED and way != "right"):
            raise RuntimeError(f"no {way}")
        return x * (3 if way == "wrong" else 2)
"""


def ran(device: Device, *ways: str, in_place: bool = False) -> list[RunResult]:
    """What becomes of a program that fails in other ways where it is watched."""
    assert isinstance(device, GuestDevice)
    workloads = tuple(
        Workload(name=f"{k} {way}", role="nominal", inputs=(TensorSpec(shape=(4, 5)), way))
        for k, way in enumerate(ways)
    )
    task = Task(name="t", title="t", source="file", reference=REFERENCE, workloads=workloads)
    known = execution.reference(task, workloads, 1, device.form, sandbox.Limits(wall=60))
    program = Submission(sample="s", code=PROGRAM, line_map=(), how="test")
    build = Build(status="built", device="sim")
    found = device.run(program, build, task, known, in_place=in_place)
    assert [item.run.status for item in found] == [
        "ran" if way == "right" else "raised" for way in ways
    ]
    return PlainGuest(device, program, build, task, known, in_place).charged_runs(found)


@pytest.mark.parametrize(
    ("ways", "statuses", "in_place"),
    [
        (("right",), ["ran"], False),
        (("right", "watched"), ["ran", "grader_error"], False),
        (("right", "watched"), ["ran", "grader_error"], True),
        (("wrong",), ["raised"], False),
        (("fails", "right", "watched"), ["raised", "ran", "not_run"], False),
    ],
)
def test_what_a_plain_guest_does_not_show_is_not_charged(
    device: Device, ways: tuple[str, ...], statuses: list[str], *, in_place: bool
) -> None:
    found = ran(device, *ways, in_place=in_place)
    assert [item.run.status for item in found] == statuses
    for item in found:
        if item.run.status in {"grader_error", "not_run"}:
            assert "no watched" in item.run.reason
