"""The same change at several lines of a function, since a defect is often copied."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from grader.records.changes import (
    OneMoreStep,
    OtherComparison,
    OtherConstant,
    OtherDivisor,
    OtherOperand,
    without_counts,
)
from grader.simulator.changes.change import Change
from grader.simulator.ptx.code import Instruction

MOST_LINES = 6
REPEATED = OtherComparison | OtherConstant | OtherOperand | OtherDivisor | OneMoreStep


def changes_everywhere(single: Sequence[Change]) -> Iterator[Change]:
    """Yield the combination of equal changes at several lines."""
    alike: dict[object, dict[int, Change]] = defaultdict(dict)
    for change in single:
        if isinstance(change.changed, REPEATED):
            alike[without_counts(change.changed)].setdefault(change.line, change)
    for by_line in alike.values():
        if 1 < len(by_line) <= MOST_LINES and (joined := _join_lines([*by_line.values()])):
            yield joined


def _join_lines(changes: Sequence[Change]) -> Change | None:
    """Return the changes as one; None where they change the same instructions."""
    edits: dict[int, tuple[Instruction, ...]] = {}
    for change in changes:
        if any(at in edits for at, _ in change.edits):
            return None
        edits |= dict(change.edits)
    first, *others = sorted(changes, key=lambda one: one.line)
    prior = min(max(one.prior for one in changes) + 1, 3)
    lines = tuple(one.line for one in others)
    return replace(first, edits=tuple(sorted(edits.items())), prior=prior, also=lines)
