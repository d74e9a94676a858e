"""What an input format is: one file of this folder each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from grader.records import KernelBenchId, SampleFormat


class Draft(NamedTuple):
    """A sample before it has its unique id."""

    name: str
    """What its id is made from."""
    origin: str
    format: SampleFormat
    text: str
    prompt: str | None = None
    task_hint: str | None = None
    kernelbench: KernelBenchId | None = None
    notes: tuple[str, ...] = ()
    unreadable: str = ""


class Input(NamedTuple):
    """A file to read."""

    path: Path
    name: str
    """Path within the folder that was given, without its suffix."""
    explicit: bool
    """Given by name, not found in a folder."""


@dataclass(frozen=True)
class Format:
    """Knows its files by their names and reads samples out of one."""

    name: SampleFormat
    suffixes: tuple[str, ...]
    matches: Callable[[Path], bool]
    read: Callable[[Input], Iterator[Draft]]
    """May raise OSError."""


def has_suffix(*suffixes: str) -> Callable[[Path], bool]:
    """Return a test for the end of a file's name, in any case of its letters."""
    return lambda path: path.name.lower().endswith(suffixes)


def read_bytes(path: Path, limit: int) -> bytes:
    """Return the first `limit` bytes of a file and one more if there are more. Raises OSError."""
    with path.open("rb") as file:
        return file.read(limit + 1)
