"""The built-in tasks: every module of `grader.tasks.builtin` that has an `ENTRY`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from grader.records import Task
from grader.tasks import builtin
from grader.tasks.entry import Entry


@cache
def entries() -> Mapping[str, Entry]:
    """Return every built-in entry by the name of its task, in alphabetical order."""
    found: dict[str, Entry] = {}
    for module in sorted(pkgutil.iter_modules(builtin.__path__), key=lambda item: item.name):
        entry: Entry = importlib.import_module(f"{builtin.__name__}.{module.name}").ENTRY
        if entry.task.name in found:
            msg = f"two built-in tasks are called {entry.task.name!r}"
            raise ValueError(msg)
        found[entry.task.name] = entry
    return MappingProxyType(dict(sorted(found.items())))


@cache
def builtin_tasks() -> Mapping[str, Task]:
    """Return the built-in tasks by name."""
    return MappingProxyType({name: entry.task for name, entry in entries().items()})
