"""Devices are found by their folders and entry points; what one can't do it doesn't have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from grader.config import Options
from grader.devices import (
    DeviceEntry,
    DryRunner,
    IdleRunner,
    Sanitizer,
    Timer,
    choose,
    choose_device,
    devices,
    looks_closer,
)
from grader.devices.cuda.device import CudaDevice
from grader.devices.sim.device import Simulator
from grader.errors import GraderError, UsageError
from grader.plugins import names
from grader.records import Run

CAPABILITIES: tuple[Any, ...] = (Timer, Sanitizer, DryRunner, IdleRunner)


def can(device: type) -> set[str]:
    bare = device.__new__(device)
    return {one.__name__ for one in CAPABILITIES if isinstance(bare, one)}


def test_each_device_has_what_it_can_do_and_nothing_else() -> None:
    assert can(Simulator) == {"DryRunner", "IdleRunner"}
    assert can(CudaDevice) == {"Timer", "Sanitizer"}
    assert looks_closer(CudaDevice.__new__(CudaDevice))
    assert not looks_closer(Simulator.__new__(Simulator))
    assert not looks_closer(None)


def test_names_are_those_of_the_folders_and_options_take_them() -> None:
    assert set(devices()) == set(names("devices")) == {"cuda", "sim"}
    for name in ("auto", *devices(), "none"):
        assert Options(device=name).device == name
    assert Run(workload="w", device="tpu-2", status="ran").device == "tpu-2"
    with pytest.raises(ValueError, match="pattern"):
        Run(workload="w", device="<b>", status="ran")


def entry(name: str, rank: int, absent: str = "", broken: str = "") -> DeviceEntry:
    def opened(*_: Any) -> Any:
        if broken:
            raise GraderError(broken)
        return name

    return DeviceEntry(name, rank, lambda: absent, "use another", opened)


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> dict[str, DeviceEntry]:
    found: dict[str, DeviceEntry] = {}
    monkeypatch.setattr(choose, "devices", lambda: found)
    return found


def chosen(device: str) -> tuple[Any, str]:
    anything: Any = None
    return choose_device(Options.model_construct(device=device), anything, anything, print)


def test_auto_takes_the_first_that_is_there(known: dict[str, DeviceEntry]) -> None:
    known.update(fast=entry("fast", 1, absent="no such card"), plain=entry("plain", 2))
    assert chosen("auto") == ("plain", "")
    known["fast"] = entry("fast", 1)
    assert chosen("auto") == ("fast", "")
    known["fast"] = entry("fast", 1, broken="no compiler")
    assert chosen("auto") == (None, "no compiler")


def test_a_device_that_was_named_must_be_there(known: dict[str, DeviceEntry]) -> None:
    known.update(fast=entry("fast", 1, absent="no such card"), slow=entry("slow", 2, broken="ill"))
    with pytest.raises(UsageError, match="no such card"):
        chosen("fast")
    with pytest.raises(GraderError, match="ill"):
        chosen("slow")
    with pytest.raises(UsageError, match="there is no device other"):
        chosen("other")
    assert chosen("none") == (None, "no device was asked for")


def test_each_folder_of_the_room_is_a_device() -> None:
    room = Path(choose.__file__).parent
    assert {path.parent.name for path in room.glob("*/device.py")} == set(devices())
