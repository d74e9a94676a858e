"""Which problem files of a folder get a reference-fixed kernel, by which families, and why others don't."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.errors import UsageError
from grader.repair.compose import UncoveredError
from grader.repair.reference import Trace, composed
from grader.tasks.problem import load


@dataclass(frozen=True)
class Covered:
    """One problem file."""

    path: Path
    families: tuple[str, ...] = ()
    """Families of its stages; empty where none covers it."""
    reason: str = ""
    """Why it isn't covered."""


def coverage(folder: Path, trace: Trace) -> Iterator[Covered]:
    """Trace every problem file below a folder and write its kernel, without building it.

    Raises UsageError where there is no such folder.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder} is no folder")
    for path in sorted(folder.rglob("*.py"), key=_order):
        try:
            task = load(path)
        except UsageError:
            continue
        try:
            yield Covered(path, composed(task, trace).families)
        except UncoveredError as error:
            yield Covered(path, reason=str(error))


def _order(path: Path) -> tuple[str, int, str]:
    number = path.stem.split("_")[0]
    return str(path.parent), int(number) if number.isdigit() else 0, path.stem
