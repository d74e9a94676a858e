"""The choice of the device: the named one, or the best one present."""

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
    """Return the requested device; None and the reason where there is none.

    `auto` takes the best one present; a named device must be present.

    Raises:
        GraderError: the named device can't be used.

    """
    if options.device == "none":
        return None, "no device was asked for"
    if options.device != "auto":
        return _device_entry(options.device).open(options, form, store, preparing), ""
    present = next(one for one in devices().values() if not one.absent())
    try:
        return present.open(options, form, store, preparing), ""
    except GraderError as error:
        return None, str(error)


def choose_checker(
    options: Options,
    form: Form,
    store: Store,
    device: Device | None,
    preparing: Callable[[str], None],
) -> tuple[Device | None, str]:
    """Return the checker to use beside a device; None and the reason where there is none.

    There is none beside a device that checks by itself (without a reason), or where the user disabled it.
    """
    known = devices().get(device.name) if device is not None else None
    if known is None or known.checks:
        return None, ""
    if options.sanitize is False:
        return None, "it was asked for no such look (--no-sanitize)"
    checking = (one for one in devices().values() if one.checks and not one.absent())
    entry = next(checking, None)
    if entry is None:
        return None, "no device that checks each access is here"
    try:
        return entry.open(options, form, store, preparing), ""
    except GraderError as error:
        return None, str(error)


def _device_entry(name: str) -> DeviceEntry:
    """Return the device of this name. Raises UsageError where there is none, or its hardware is absent."""
    found = devices().get(name)
    if found is None:
        raise UsageError(f"there is no device {name}", f"use {', '.join(devices())}")
    if why := found.absent():
        raise UsageError(why, found.instead)
    return found
