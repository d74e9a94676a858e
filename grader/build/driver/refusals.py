"""What the compilers refused of a submission, so that no later guest asks them again.

A handler may swallow a failed build: each guest that runs the program would compile in vain. What a
program says of itself here can only make its own build fail, which it can anyway.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from grader.build.driver.tools import LOG

VARIABLE = "KERNEL_GRADER_REFUSALS"
"""Environment variable with the guest's scratch folder."""
FOLDER = "refused"
"""In the scratch folder: what an earlier guest handed over."""
HANDED_ON = f"extensions/{FOLDER}"
"""Likewise: what later guests get."""


@dataclass(frozen=True)
class Refusal:
    """One compiler call: by compilers, arguments, and what its sources hold."""

    kind: str
    call: list[str]
    sources: list[str]

    def text(self) -> str | None:
        """Return what the compilers said in an earlier guest; None where they were not asked."""
        known = self._path(FOLDER)
        return known.read_text("utf-8", "replace") if known and known.is_file() else None

    def note(self, text: str) -> None:
        """Note what they said, for later guests."""
        if VARIABLE in os.environ:
            Path(os.environ[VARIABLE], HANDED_ON).mkdir(parents=True, exist_ok=True)
        if noted := self._path(HANDED_ON):
            noted.write_text(text, "utf-8")

    def forget(self) -> None:
        """Take the note back: the same call went well when it was tried again."""
        if noted := self._path(HANDED_ON):
            noted.unlink(missing_ok=True)

    def _path(self, name: str) -> Path | None:
        """Return where the call's note would be in this folder of the guest's; None where there is no folder."""
        folder = Path(os.environ.get(VARIABLE, "/nonexistent"), name)
        if not folder.is_dir():  # the most frequent case by far
            return None
        import hashlib

        content = hashlib.sha256(repr([self.kind, self.call, str(Path.cwd())]).encode())
        for source in self.sources:
            content.update(Path(source).read_bytes())
        return folder / f"{content.hexdigest()[:40]}.log"


def said_since(start: int) -> str:
    """Return what this build's log got after its first `start` bytes."""
    with Path(LOG).open("rb") as log:
        log.seek(start)
        return log.read().decode("utf-8", "replace")


def said_so_far() -> int:
    """Return the length of this build's log in bytes."""
    return Path(LOG).stat().st_size if Path(LOG).is_file() else 0
