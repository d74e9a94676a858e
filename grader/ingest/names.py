"""Safe, stable and unique names of samples."""

from __future__ import annotations

import re

from grader.records import digest

MAX_LENGTH = 120
RESERVED = frozenset({"readme", "index", "results", "con", "nul", "aux", "prn"})
"""Names that reports use for themselves, or that some file systems refuse."""

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def slug(name: str) -> str:
    """Return a name of letters, digits, dot, underscore and hyphen, at most 100 characters long.

    A changed name gets a piece of its digest, so that different names stay different.
    """
    safe = _UNSAFE.sub("_", name.replace("/", "__")).strip("._-")
    changed = safe != name.replace("/", "__")
    if not safe or len(safe) > 100 or safe.lower() in RESERVED or changed:
        safe = f"{safe[:90] or 'sample'}-{digest(name)[:8]}"
    return safe


class UniqueNames:
    """Gives each name once, ignoring case."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._next: dict[str, int] = {}

    def take(self, wanted: str) -> str:
        """Return the slug of a name, with `-2`, `-3`, ... where it is taken already."""
        base = slug(wanted)
        name = base
        number = self._next.get(base.lower(), 2)
        while name.lower() in self._taken:
            name = f"{base}-{number}"
            number += 1
        self._next[base.lower()] = number
        self._taken.add(name.lower())
        return name
