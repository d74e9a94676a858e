"""What an input format is: one file of this folder each."""

from __future__ import annotations

import os
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


class Skipped(NamedTuple):
    """Something that was named or found and is no sample: a broken record, a link that leads out of its folder."""

    origin: str
    """The file, with the number of the line where it is one line of it."""
    reason: str


class Input(NamedTuple):
    """A file to read."""

    path: Path
    name: str
    """Path within the folder that was given, without its suffix."""
    explicit: bool
    """Given by name, not found in a folder."""
    root: Path
    """The folder that was named, or the one that the named file is in."""

    def leads_out(self, path: Path) -> bool:
        """Whether a file of the folder is a link to something outside of it, which is nobody's sample.

        A folder may be a stranger's: what its links name would be read with the user's rights, and shown.
        """
        return not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(self.root))

    def has_beside(self, path: Path) -> bool:
        """Whether there is such a file beside the sample, to be read with it."""
        return path.is_file() and not self.leads_out(path)


@dataclass(frozen=True)
class Format:
    """Knows its files by their names and reads samples out of one."""

    name: SampleFormat
    suffixes: tuple[str, ...]
    matches: Callable[[Path], bool]
    read: Callable[[Input], Iterator[Draft | Skipped]]
    """May raise OSError."""


def has_suffix(*suffixes: str) -> Callable[[Path], bool]:
    """Return a test for the end of a file's name, in any case of its letters."""
    return lambda path: path.name.lower().endswith(suffixes)


def read_bytes(path: Path, limit: int) -> bytes:
    """Return the first `limit` bytes of a file and one more if there are more. Raises OSError."""
    with path.open("rb") as file:
        return file.read(limit + 1)
