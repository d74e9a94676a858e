"""Which of two runs counts, and what a guest's word on its guard zones comes to."""

from __future__ import annotations

import pytest

from grader.devices import RunResult
from grader.devices.cuda import guard_zones
from grader.records import Evidence, GuardZoneWritten, JsonValue, Run, RunStatus, Task, Workload
from grader.sandbox import GuestResult

TASK = Task(
    name="t",
    title="t",
    source="file",
    reference="",
    workloads=tuple(Workload(name=name, role="nominal", inputs=()) for name in "abc"),
)


def result(name: str, status: RunStatus = "ran", reason: str = "") -> RunResult:
    run = Run(workload=name, device="cuda", status=status, reason=reason)
    return RunResult(run, GuestResult(name, status, reason))


class Device:
    """Ends each workload as it is told, and notes what it was asked for."""

    def __init__(self, between: dict[str, RunStatus], without: dict[str, RunStatus]) -> None:
        self.ends = {True: between, False: without}
        self.asked: list[tuple[str, bool]] = []

    def run(self, task: Task, guarded: bool) -> list[RunResult]:
        names = [workload.name for workload in task.judged]
        self.asked += [("".join(names), guarded)]
        return [
            result(name, self.ends[guarded].get(name, "ran"), f"{name} {guarded}") for name in names
        ]


def test_what_ends_well_runs_once() -> None:
    device = Device({}, {})
    found = guard_zones.run_between_zones(TASK, device.run)
    assert device.asked == [("abc", True)]
    assert [item.run.unguarded for item in found] == ["", "", ""]


def test_what_fails_between_zones_alone_is_not_charged() -> None:
    device = Device({"b": "raised"}, {})
    found = guard_zones.run_between_zones(TASK, device.run)
    assert device.asked == [("abc", True), ("b", False)]
    assert [item.run.status for item in found] == ["ran", "ran", "ran"]
    assert found[1].run.unguarded == "between them it ended as raised: b True"
    assert not found[0].run.unguarded


def test_what_fails_without_them_as_well_fails_as_it_does_there() -> None:
    device = Device({"a": "out_of_memory", "c": "crashed"}, {"a": "hung"})
    found = guard_zones.run_between_zones(TASK, device.run)
    assert device.asked == [("abc", True), ("ac", False)]
    assert [item.run.status for item in found] == ["hung", "ran", "ran"]
    assert found[0].run.reason == "a False"
    assert not found[0].run.unguarded


def seen(report: JsonValue) -> tuple[str, list[Evidence]]:
    told = GuestResult("w", "ran", "", report=report)
    return guard_zones.why_not(told), list(guard_zones.strays(told))


@pytest.mark.parametrize(
    ("role", "first", "last", "count", "text"),
    [
        ("output 1", 4000, 4003, 4, "4 bytes are overwritten right past the end of `output 1` (4000 bytes)."),
        ("output 1", 4016, 4019, 4, "4 bytes are overwritten 16 bytes past the end of `output 1` (4000 bytes)."),
        ("", -8, -1, 8, "8 bytes are overwritten 8 bytes before the start of a tensor of its own (4000 bytes)."),
        ("x", -4, 4003, 8, "8 bytes are overwritten from 4 bytes before the start to 4 past the end of `x` (4000 bytes)."),
    ],
)  # fmt: skip
def test_a_stray_write_is_an_access_out_of_bounds(
    role: str, first: int, last: int, count: int, text: str
) -> None:
    stray: JsonValue = {"role": role, "bytes": 4000, "first": first, "last": last, "count": count}
    why, (found,) = seen({"guard_zones": {"why_not": "", "strays": [stray]}})
    assert (why, found.kind, found.code, found.workload) == ("", "sanitizer", "out-of-bounds", "w")
    assert found.text == text
    assert found.details == GuardZoneWritten(
        role=role, size=4000, first=first, last=last, count=count
    )


@pytest.mark.parametrize(
    "report",
    [
        None,
        [],
        {"guard_zones": []},
        {"guard_zones": {"why_not": 3, "strays": 3}},
        {"guard_zones": {"strays": [3, {}, {"bytes": "4", "first": 0, "last": 0, "count": 0}]}},
        {"guard_zones": {"strays": [{"bytes": 1 << 70, "first": 0, "last": 0, "count": 0}]}},
        {"guard_zones": {"strays": [{"bytes": True, "first": 0, "last": 0, "count": 0}]}},
    ],
)
def test_what_has_another_shape_is_nothing(report: JsonValue) -> None:
    assert seen(report) == ("", [])


def test_few_are_told() -> None:
    stray: JsonValue = {"role": "x" * 1000, "bytes": 4, "first": 4, "last": 4, "count": 1}
    _, found = seen({"guard_zones": {"strays": [stray] * 1000}})
    assert len(found) == guard_zones.MOST
    assert isinstance(found[0].details, GuardZoneWritten)
    assert len(found[0].details.role) == 200


def test_why_there_are_none_is_told() -> None:
    assert (
        seen({"guard_zones": {"why_not": "OSError: no libcuda", "strays": []}})[0]
        == "OSError: no libcuda"
    )
