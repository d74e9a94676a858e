"""A record of failed compilations of a submission, so that no later guest repeats them.

A submission may catch a failed build, and each guest that runs the program would compile in vain. A program that forges
the record can only make its own build fail, which it can do anyway.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from grader.build.driver.tools import LOG

VARIABLE = "KERNEL_GRADER_REFUSALS"
"""Environment variable with the guest's scratch folder."""
FOLDER = "refused"
"""Folder in the scratch folder with the notes of an earlier guest."""
HANDED_ON = f"extensions/{FOLDER}"
"""Folder in the scratch folder with the notes for later guests."""


@dataclass(frozen=True)
class Refusal:
    """A failed compiler call, identified by compilers, arguments, and contents of its sources."""

    kind: str
    call: list[str]
    sources: list[str]

    def text(self) -> str | None:
        """Return the compilers' output in an earlier guest; None where the call did not fail there."""
        known = self._path(FOLDER)
        return known.read_text("utf-8", "replace") if known and known.is_file() else None

    def note(self, text: str) -> None:
        """Record the compilers' output for later guests."""
        if VARIABLE in os.environ:
            Path(os.environ[VARIABLE], HANDED_ON).mkdir(parents=True, exist_ok=True)
        if noted := self._path(HANDED_ON):
            noted.write_text(text, "utf-8")

    def forget(self) -> None:
        """Delete the note, since the same call succeeded in a retry."""
        if noted := self._path(HANDED_ON):
            noted.unlink(missing_ok=True)

    def _path(self, name: str) -> Path | None:
        """Return the path of the call's note in this folder of the guest; None where there is no folder."""
        folder = Path(os.environ.get(VARIABLE, "/nonexistent"), name)
        if not folder.is_dir():  # the most frequent case by far
            return None
        import hashlib

        content = hashlib.sha256(repr([self.kind, self.call, str(Path.cwd())]).encode())
        for source in self.sources:
            content.update(Path(source).read_bytes())
        return folder / f"{content.hexdigest()[:40]}.log"


def said_since(start: int) -> str:
    """Return this build's log after its first `start` bytes."""
    with Path(LOG).open("rb") as log:
        log.seek(start)
        return log.read().decode("utf-8", "replace")


def said_so_far() -> int:
    """Return the length of this build's log in bytes."""
    return Path(LOG).stat().st_size if Path(LOG).is_file() else 0
