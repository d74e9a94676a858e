"""The registry of devices: the folders beside this file, and installed plug-ins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from grader.config import Options
from grader.devices.base import Device
from grader.plugins import members
from grader.sandbox import Form
from grader.store import Store


@dataclass(frozen=True)
class DeviceEntry:
    """How a device is found and opened; `DEVICE` of a folder, or a plug-in's."""

    name: str
    """Name in `--device` and reports."""
    rank: int
    """Rank; `auto` takes the lowest of the devices present."""
    absent: Callable[[], str]
    """Returns why this machine has no such hardware, or "" where it has."""
    instead: str
    """Advice to the user where it is absent."""
    open: Callable[[Options, Form, Store, Callable[[str], None]], Device]
    """Prepare this machine, once, and return the device. Raises GraderError where that fails."""
    checks: bool = False
    """Whether its runs check each memory access; their proofs hold on every device."""


@cache
def devices() -> Mapping[str, DeviceEntry]:
    """Return every device by its name, in the order in which `auto` tries them.

    Entry points of the group `kernel_grader.devices` name a `DeviceEntry`; one that can't be loaded is logged and
    left out. Raises ValueError when two have one name.
    """
    found: dict[str, DeviceEntry] = {}
    for one in sorted(members("devices", "DEVICE", DeviceEntry), key=lambda entry: entry.rank):
        if found.setdefault(one.name, one) is not one:
            msg = f"two devices are called {one.name!r}"
            raise ValueError(msg)
    return MappingProxyType(found)
