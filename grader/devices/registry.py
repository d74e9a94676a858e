"""Every device there is: the folders beside this file, and those of installed plug-ins."""

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
    """As `--device` and reports say it."""
    rank: int
    """`auto` takes the lowest of those that are there."""
    absent: Callable[[], str]
    """Say why this machine has no such hardware, or "" where it has."""
    instead: str
    """What a user may do where it is absent."""
    open: Callable[[Options, Form, Store, Callable[[str], None]], Device]
    """Prepare this machine, once, and return the device. Raises GraderError where that fails."""
    checks: bool = False
    """Whether its runs check each access to memory: what they prove of a program holds on every device."""


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
