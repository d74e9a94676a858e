"""What the compilers refused of a submission, so that no later guest asks them again.

A handler may swallow a failed build: each guest that runs the program would compile in vain. What a
program says of itself here can only make its own build fail, which it can anyway.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from grader.build.driver.tools import LOG

VARIABLE = "KERNEL_GRADER_REFUSALS"
"""Environment variable with the guest's scratch folder."""
FOLDER = "refused"
"""In the scratch folder what an earlier guest handed over; in its `extensions` what is handed on."""


@dataclass(frozen=True)
class Refusal:
    """One compiler call: what is known of it, and where it is noted."""

    known: Path | None
    noted: Path | None

    def text(self) -> str | None:
        """Return what the compilers said in an earlier guest; None where they were not asked."""
        if self.known is None or not self.known.is_file():
            return None
        return self.known.read_text("utf-8", "replace")

    def note(self, text: str) -> None:
        """Note what they said, for later guests."""
        if self.noted is not None:
            self.noted.parent.mkdir(parents=True, exist_ok=True)
            self.noted.write_text(text, "utf-8")

    def forget(self) -> None:
        """Take the note back: the same call went well when it was tried again."""
        if self.noted is not None:
            self.noted.unlink(missing_ok=True)


def of(kind: str, call: list[str], sources: list[str]) -> Refusal:
    """Return the refusal of a call, by compilers, arguments, and what its sources hold."""
    scratch = os.environ.get(VARIABLE)
    if not scratch:
        return Refusal(None, None)
    content = hashlib.sha256(repr([kind, call, str(Path.cwd())]).encode())
    for source in sources:
        content.update(Path(source).read_bytes())
    name = f"{content.hexdigest()[:40]}.log"
    return Refusal(Path(scratch, FOLDER, name), Path(scratch, "extensions", FOLDER, name))


def said_since(start: int) -> str:
    """Return what this build's log got after its first `start` bytes."""
    with Path(LOG).open("rb") as log:
        log.seek(start)
        return log.read().decode("utf-8", "replace")


def said_so_far() -> int:
    """Return the length of this build's log in bytes."""
    return Path(LOG).stat().st_size if Path(LOG).is_file() else 0
