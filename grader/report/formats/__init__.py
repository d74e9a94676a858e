"""Documents about all samples of a run, one file for each format, built from reviews one by one."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Protocol

from grader.records import Review
from grader.report.spill import SpillFile


class Document(Protocol):
    """A document about a run, under construction."""

    def add(self, review: Review) -> None:
        """Take one review, and keep the document's part about it."""

    def parts(self) -> Iterator[str]:
        """Yield the text, sorted, after the last review."""


@dataclass(frozen=True)
class Format:
    """A format of a run: `begin` makes an empty document, whose large pieces wait on disk."""

    file: str
    begin: Callable[[SpillFile], Document]


@cache
def all_formats() -> tuple[Format, ...]:
    """Return the `FORMAT` of each file of this folder."""
    modules = (importlib.import_module(f"{__name__}.{one.name}") for one in pkgutil.iter_modules(__path__))  # fmt: skip
    return tuple(module.FORMAT for module in modules)
