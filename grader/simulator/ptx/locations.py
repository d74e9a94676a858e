"""`.loc` and `.file`: source lines through inlining."""

from __future__ import annotations

import posixpath
import re

from .program import Location

_LOC = re.compile(
    r"\.loc\s+(\d+)\s+(\d+)\s+(\d+)"
    r"(?:\s*,\s*function_name\s+[^,]+,\s*inlined_at\s+(\d+)\s+(\d+)\s+(\d+))?"
)
_DEPTH = 24
Position = tuple[int, int, int]


class Locations:
    """Collects `.loc` lines; a number for each distinct chain of frames, 0 for "unknown"."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[tuple[int, int], ...], int] = {(): 0}
        self._lines: dict[str, int] = {}
        self._parents: dict[Position, Position | None] = {}
        self.current = 0

    def enter(self, text: str) -> None:
        """Read a `.loc` line, which applies to the following instructions."""
        match = _LOC.match(text)
        if match is None:
            return
        file, line, column, *at = (int(part) if part else 0 for part in match.groups())
        if line == 0:
            return
        here = (file, line, column)
        self._parents[here] = (at[0], at[1], at[2]) if at[0] else None
        frames: list[tuple[int, int]] = []
        position: Position | None = here
        while position is not None and len(frames) < _DEPTH:
            frames.append(position[:2])
            position = self._parents.get(position)
        self.current = self._numbers.setdefault(tuple(frames), len(self._numbers))

    def leave(self) -> None:
        """Forget the position, at the start of a function."""
        self.current = 0

    def table(self, files: dict[int, str], own: str) -> tuple[list[str], list[Location]]:
        """Return the file names and the locations by number.

        `own` is the base name of the submission's file; if no file has that name, it is the most frequent file of
        outermost frames.
        """
        numbers = sorted(files)
        index = {number: place for place, number in enumerate(numbers)}
        mine = {number for number in numbers if posixpath.basename(files[number]) == own}
        mine = mine or self._usual(index)
        locations = []
        for frames in self._numbers:
            known = tuple((index[file], line) for file, line in frames if file in index)
            inside = (i for i, (file, _) in enumerate(known) if numbers[file] in mine)
            locations.append(Location(known, next(inside, -1)))
        return [files[number] for number in numbers], locations

    def _usual(self, index: dict[int, int]) -> set[int]:
        counts: dict[int, int] = {}
        for frames in self._numbers:
            if frames and frames[-1][0] in index:
                counts[frames[-1][0]] = counts.get(frames[-1][0], 0) + 1
        return {max(counts, key=lambda number: counts[number])} if counts else set()
