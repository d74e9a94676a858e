"""What the simulator says of a program that went wrong elsewhere."""

from __future__ import annotations

import pytest

from grader import sandbox
from grader.devices.cuda.witness import consult
from grader.devices.sim.device import Simulator
from grader.execution.reference import reference

from .conftest import CODE, a_submission, a_task

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]


def test_it_tells_what_it_saw_in_the_workload_that_it_is_asked_for(device: Simulator) -> None:
    task = a_task((0, 3, 5))
    known = reference(task, task.workloads, 1, device.form, sandbox.Limits(wall=60))
    codes = [
        {item.code for item in consult(device, a_submission(CODE), task, known, workload).evidence}
        for workload in task.workloads
    ]
    assert not codes[0]
    assert "race" in codes[1]
    assert "uninit-shared-read" in codes[2]


def test_a_build_that_fails_is_a_note(device: Simulator) -> None:
    task = a_task((0,))
    known = reference(task, task.workloads, 1, device.form, sandbox.Limits(wall=60))
    broken = a_submission(CODE.replace("too_far>(x", "nowhere>(x"))
    seen = consult(device, broken, task, known, task.workloads[0])
    assert not seen.evidence
    assert "the build for it fails" in seen.notes[0]
