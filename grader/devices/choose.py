"""Which device is used: the one that was named, or the best of those that are there."""

from __future__ import annotations

from collections.abc import Callable

from grader.config import Options
from grader.devices.base import Device
from grader.devices.registry import DeviceEntry, devices
from grader.errors import GraderError, UsageError
from grader.sandbox import Form
from grader.store import Store


def choose_device(
    options: Options, form: Form, store: Store, preparing: Callable[[str], None]
) -> tuple[Device | None, str]:
    """Return the device that was asked for; None and the reason where there is none.

    `auto` takes what there is; a device that was named must be there.

    Raises:
        GraderError: the device that was named can't be used.

    """
    if options.device == "none":
        return None, "no device was asked for"
    if options.device != "auto":
        return _named(options.device).open(options, form, store, preparing), ""
    present = next(one for one in devices().values() if not one.absent())
    try:
        return present.open(options, form, store, preparing), ""
    except GraderError as error:
        return None, str(error)


def _named(name: str) -> DeviceEntry:
    """Return the device of this name. Raises UsageError where there is none, or its hardware is absent."""
    found = devices().get(name)
    if found is None:
        raise UsageError(f"there is no device {name}", f"use {', '.join(devices())}")
    if why := found.absent():
        raise UsageError(why, found.instead)
    return found
