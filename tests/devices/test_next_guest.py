"""Which workloads are asked again where one has ended the guest."""

from __future__ import annotations

import pytest

from grader.devices.base import RunResult
from grader.devices.next_guest import still_open
from grader.records import Run, RunStatus, TensorSpec, Workload
from grader.sandbox import GuestReply, GuestResult


def workload(rows: int, more: str = "") -> Workload:
    name = f"{rows}x8{more}"
    return Workload(name=name, role="nominal", inputs=(TensorSpec(shape=(rows, 8)), 3))


ASKED = (workload(4), workload(16), workload(16, " signed"), workload(2))


@pytest.mark.parametrize(
    ("ended", "left"),
    [
        ("timeout", ["2x8"]),
        ("crashed", ["16x8 signed", "2x8"]),
        ("raised", []),
    ],
)
def test_what_takes_as_long_is_not_tried_after_a_timeout(ended: RunStatus, left: list[str]) -> None:
    statuses: tuple[RunStatus, ...] = ("ran", ended, "ran", "ran")
    results = [
        GuestResult(w.name, "raised" if status == "timeout" else status)
        for w, status in zip(ASKED, statuses, strict=True)
    ]
    found = {
        w.name: RunResult(Run(workload=w.name, device="sim", status=status), result)
        for w, status, result in zip(ASKED, statuses, results, strict=True)
    }
    reply = GuestReply("done", "", stage="forward", results=tuple(results))
    still = still_open(ASKED, reply, found, lambda _result: False)
    assert [w.name for w in still] == left
