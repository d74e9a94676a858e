"""The interface of input formats, one file of this folder each."""

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
    """A file or record that isn't a sample: a broken record, a link that leads out of its folder."""

    origin: str
    """The file, with a line number for a record of JSONL."""
    reason: str


class Input(NamedTuple):
    """A file to read."""

    path: Path
    name: str
    """Path within the given folder, without its suffix."""
    explicit: bool
    """Whether it was given by name, not found in a folder."""
    root: Path
    """The given folder, or the folder of the given file."""

    def leads_out(self, path: Path) -> bool:
        """Whether a file of the folder is a link out of the folder, which isn't a sample.

        The folder may come from a stranger, and its links would be read with the user's rights and shown.
        """
        return not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(self.root))

    def has_beside(self, path: Path) -> bool:
        """Whether there is a companion file beside the sample, to be read with it."""
        return path.is_file() and not self.leads_out(path)


@dataclass(frozen=True)
class Format:
    """An input format: recognises its files by their names and reads samples from one."""

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
