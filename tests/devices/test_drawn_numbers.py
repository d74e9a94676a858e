"""A GPU draws numbers of its own: what a program draws there is not what it would draw on the CPU."""

from __future__ import annotations

import pytest

from grader import judge, sandbox
from grader.devices import Device
from grader.execution.reference import reference
from grader.records import Task, TensorSpec, Workload

from .conftest import a_submission

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]  # the first one prepares the machine
HEAD = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"
SCALED = """
class {name}(nn.Module):
    def __init__(self):
        super().__init__()
        {first}
        self.scale = nn.Parameter(torch.randn(100{where}))
    def forward(self, x):
        return x * self.scale
"""
DROPPED = """
class {name}(nn.Module):
    def forward(self, x):
        return F.dropout(x, 0.5, training=True)
"""


def is_right(device: Device, wanted: str, code: str) -> bool:
    """Run a program that launches nothing, and compare."""
    submission = a_submission(HEAD + code)
    workload = Workload(name="one", role="nominal", inputs=(TensorSpec(shape=(10, 100)),))
    task = Task(
        name="drawn", title="", source="file", reference=HEAD + wanted, workloads=(workload,)
    )
    form = device.form  # type: ignore[attr-defined]
    known = reference(task, task.workloads, 1, form, sandbox.Limits(wall=60))
    build = device.build(submission, ())
    assert build.status == "built", build.log
    (result,) = device.run(submission, build, task, known)
    assert result.run.status == "ran", result.run.reason
    comparison = judge.compare(task, workload, known, result)
    return comparison.equal


@pytest.mark.parametrize(
    ("first", "where", "right"),
    [
        ("pass", "", True),
        ("pass", ", device='cuda'", False),
        ("torch.manual_seed(1)", ", device='cuda'", False),
        ("torch.rand(64, 64, device='cuda')", "", True),
    ],
)
def test_weights_drawn_on_the_gpu_are_others(
    device: Device, first: str, where: str, right: bool
) -> None:
    wanted = SCALED.format(name="Model", first="pass", where="")
    code = SCALED.format(name="ModelNew", first=first, where=where)
    assert is_right(device, wanted, code) is right


def test_dropout_meets_the_elements_that_it_meets_in_the_reference(device: Device) -> None:
    assert is_right(device, DROPPED.format(name="Model"), DROPPED.format(name="ModelNew"))
