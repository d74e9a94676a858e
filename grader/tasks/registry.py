"""The built-in tasks: the `ENTRY`, or the `ENTRIES`, of every module of `grader.tasks.builtin`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType

from grader.records import Task
from grader.tasks import builtin
from grader.tasks.entry import Entry


@cache
def entries() -> Mapping[str, Entry]:
    """Return every built-in entry by the name of its task, in alphabetical order."""
    found: dict[str, Entry] = {}
    for entry in _written_tasks():
        if entry.task.name in found:
            msg = f"two built-in tasks are called {entry.task.name!r}"
            raise ValueError(msg)
        found[entry.task.name] = entry
    return MappingProxyType(dict(sorted(found.items())))


def _written_tasks() -> Iterator[Entry]:
    for module in pkgutil.iter_modules(builtin.__path__):
        read = importlib.import_module(f"{builtin.__name__}.{module.name}")
        yield from getattr(read, "ENTRIES", None) or (read.ENTRY,)


@cache
def builtin_tasks() -> Mapping[str, Task]:
    """Return the built-in tasks by name."""
    return MappingProxyType({name: entry.task for name, entry in entries().items()})
