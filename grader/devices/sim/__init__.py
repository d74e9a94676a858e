"""The CPU simulator as a device: the submission's own build and calls, no GPU anywhere."""

from __future__ import annotations

from collections.abc import Callable

from grader.config import Options
from grader.devices.base import Device
from grader.devices.registry import DeviceEntry
from grader.sandbox import Form
from grader.store import Store


def _open(options: Options, form: Form, store: Store, preparing: Callable[[str], None]) -> Device:
    from grader.devices.sim.device import open_simulator

    return open_simulator(options, form, store, preparing)


DEVICE = DeviceEntry(name="sim", rank=100, absent=lambda: "", instead="", open=_open, checks=True)
