"""A kernel's passes over a row, and the values it keeps between them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from grader.repair.compose.fused import Value

KEPT = 32
"""Values of a row that a thread keeps at most; half as many where more than two operands need registers as well."""
PACKED = 96
"""Bytes of operands that a thread keeps at most."""


@dataclass(frozen=True)
class Statements:
    """The statements for an element."""

    operands: tuple[int, ...]
    """Numbers of the operands that are read for it."""
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Pass:
    """One pass over a row: values known before, values of each element, and reductions."""

    row: tuple[str, ...]
    kept: tuple[str, ...]
    """Names of the kept values that it takes."""
    element: Statements
    reductions: tuple[Value, ...] = ()


@dataclass(frozen=True)
class Walk:
    """All passes over a row."""

    kept: tuple[str, ...]
    """Names of the values computed once where a row fits into registers."""
    fill: Statements
    """The statements for these."""
    passes: tuple[Pass, ...]
    """Each reduction needs one, the results need the last."""
    packed: int = 0
    """Bytes of an element's operands where these are what is kept, as they were read."""

    def packs_held(self, pack: int) -> int:
        """Return the number of packs of neighbours that a thread keeps."""
        if self.packed:
            return 1 << min(3, max(1, PACKED // (self.packed * pack)).bit_length() - 1)
        return max(1, min(8, self._room // (pack * max(1, len(self.kept)))))

    def at_once(self, pack: int) -> int:
        """Return the number of packs read together."""
        return min(self.packs_held(pack), max(1, KEPT // 2 // pack))

    @property
    def _room(self) -> int:
        return KEPT // 2 if len(self.fill.operands) > 2 else KEPT


def walk(values: Mapping[str, Value], results: Sequence[str], sizes: Sequence[int]) -> Walk:
    """Return the passes over a row for the results, given by value names; `sizes` are the bytes of operands."""
    reductions = [one for one in values.values() if one.reduction]
    last = max((one.step for one in reductions), default=0)
    ends = [[one for one in reductions if one.step == step + 1] for step in range(last)]
    targets = [[use for one in end for use in one.uses] for end in ends] + [list(results)]
    kept = _kept_values(values, targets)
    packed = _bytes_as_read(values, kept, sizes)
    kept = {name for name in _behind(values, kept) if not values[name].words} if packed else kept
    passes = (
        _pass(values, k, ends[k] if k < last else [], one, kept) for k, one in enumerate(targets)
    )
    fill = _behind(values, kept)
    return Walk(
        tuple(name for name in values if name in kept),
        _statements(values, fill),
        tuple(passes),
        packed,
    )


def _bytes_as_read(values: Mapping[str, Value], kept: set[str], sizes: Sequence[int]) -> int:
    """Return the bytes of an element's operands where they are narrow and kept in place of what no function makes of them."""
    behind = _behind(values, kept)
    operands = (name for name, one in values.items() if not one.words)
    read = [size for name, size in zip(operands, sizes, strict=True) if name in behind]
    called = any(re.search(r"\w\(", values[name].words) for name in behind)
    return 0 if called or not read or min(read) >= 4 or sum(read) > 4 * len(kept) else sum(read)


def _kept_values(values: Mapping[str, Value], targets: Sequence[Iterable[str]]) -> set[str]:
    """Return what is known before any reduction and taken by what only some of the passes compute."""
    needed = [_behind(values, names) for names in targets]
    shared = {
        name for name in values if not values[name].step and sum(name in one for one in needed) > 1
    }
    taken = {use for names in needed for name in names - shared for use in values[name].uses}
    return shared & taken.union(*targets)


def _behind(
    values: Mapping[str, Value], names: Iterable[str], stop: Iterable[str] = ()
) -> set[str]:
    """Return the elements' values that some are made of, these among them, back to those at which to stop."""
    found: set[str] = set()
    waiting = [name for name in names if name not in stop]
    while waiting:
        name = waiting.pop()
        if name not in found and not values[name].per_row:
            found.add(name)
            waiting += [use for use in values[name].uses if use not in stop]
    return found


def _statements(values: Mapping[str, Value], names: set[str]) -> Statements:
    operands = [name for name, one in values.items() if not one.words]
    lines = (one.text for name, one in values.items() if name in names and one.words)
    return Statements(tuple(k for k, name in enumerate(operands) if name in names), tuple(lines))


def _pass(
    values: Mapping[str, Value], step: int, ends: list[Value], targets: list[str], kept: set[str]
) -> Pass:
    own = _behind(values, targets, kept)
    taken = {use for name in own for use in values[name].uses}.union(targets) & kept
    rows = (one for one in values.values() if one.per_row and one.words and not one.reduction)
    return Pass(
        tuple(one.text for one in rows if one.step == step),
        tuple(name for name in values if name in taken),
        _statements(values, own),
        tuple(ends),
    )
