"""Members of a room with one folder each, and of installed plug-ins: their names, and the objects."""

from __future__ import annotations

import importlib
import logging
import pkgutil
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
PREFIX = "kernel_grader."
"""Prefix of the groups of entry points: `kernel_grader.devices`, `kernel_grader.languages`."""
ROOMS = ("devices", "languages", "rules")
"""Rooms that accept plug-ins."""
logger = logging.getLogger(__name__)


def names(room: str) -> tuple[str, ...]:
    """Return the names of a room's folders and a group's entry points, without importing any."""
    plugged = (entry.name for entry in entry_points(group=PREFIX + room))
    return tuple(sorted({*_folders(room), *plugged}))


def members(room: str, attribute: str, kind: type[T]) -> Iterator[T]:
    """Yield `attribute` of each folder of a room, then the objects of the entry points of the room's group.

    One that can't be loaded, or is of another kind, is logged and left out.
    """
    for name in _folders(room):
        yield getattr(importlib.import_module(f"grader.{room}.{name}"), attribute)
    for entry in entry_points(group=PREFIX + room):
        try:
            loaded = entry.load()
        except Exception:
            logger.exception("the plug-in %s of %s can't be loaded", entry.name, room)
            continue
        if isinstance(loaded, kind):
            yield loaded
        else:
            logger.error("the plug-in %s is no %s: %s", entry.name, kind.__name__, entry.value)


def installed_plugins() -> tuple[str, ...]:
    """Return the installed plug-ins with their versions, which stored results depend on."""
    found = (entry for room in ROOMS for entry in entry_points(group=PREFIX + room))
    return tuple(
        sorted(f"{one.group} {one.value} {one.dist.version if one.dist else ''}" for one in found)
    )


def _folders(room: str) -> list[str]:
    found = pkgutil.iter_modules([str(Path(__file__).parent / room)])
    return sorted(info.name for info in found if info.ispkg)
