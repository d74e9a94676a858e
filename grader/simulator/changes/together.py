"""Pairs of changes: two values are exchanged, or both get the same step."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations

from grader.records.changes import Changed, KernelValue, OneMoreStep, OtherOperand, without_counts
from grader.simulator.changes.change import Change
from grader.simulator.ptx.code import Instruction

MOST = 3
"""Most places of the other value, the nearest first."""
APART = 8
"""Most lines between two exchanged values."""


def changes_together(
    single: Sequence[Change], code: Sequence[Instruction], nested: int
) -> Iterator[Change]:
    """Yield such pairs of changes; `nested` is the largest prior of both."""
    likely = [one for one in single if one.prior <= nested]
    yield from _exchanges(likely, code)
    yield from _of_both(likely, code)


def _exchanges(changes: Sequence[Change], code: Sequence[Instruction]) -> Iterator[Change]:
    """Yield exchanges of two values near each other."""
    known: dict[tuple[KernelValue, KernelValue], list[Change]] = defaultdict(list)
    for change in changes:
        if isinstance(change.changed, OtherOperand):
            known[change.changed.before, change.changed.after].append(change)
    for (before, after), ones in known.items():
        others = known.get((after, before), ()) if before < after else ()
        yield from _nearest(ones, others, code)


def _nearest(
    ones: Iterable[Change], others: Sequence[Change], code: Sequence[Instruction]
) -> Iterator[Change]:
    for one in ones:
        near = [other for other in others if abs(other.line - one.line) <= APART]
        for other in sorted(near, key=partial(_distance, one))[:MOST]:
            first, second = sorted((one, other), key=lambda each: each.line)
            if joined := joined_changes(first, second, code):
                prior = max(one.prior, other.prior)
                yield replace(joined, changed=_of_two(joined.changed), prior=prior)


def _distance(one: Change, other: Change) -> int:
    return abs(one.edits[0][0] - other.edits[0][0])


def _of_both(changes: Sequence[Change], code: Sequence[Instruction]) -> Iterator[Change]:
    """Yield pairs of the same step on two values of a line."""
    alike: dict[object, dict[KernelValue, Change]] = defaultdict(dict)
    for change in changes:
        match change.changed:
            case OneMoreStep(before=value) as step if not step.takes_another_line:
                same = without_counts(step).after
                alike[change.line, same].setdefault(value, change)
    for by_value in alike.values():
        for one, other in combinations(list(by_value.values())[:4], 2):
            if joined := joined_changes(one, other, code):
                yield replace(joined, changed=_of_two(joined.changed), also=())


def _of_two(changed: Changed) -> Changed:
    return (
        replace(changed, both=True) if isinstance(changed, OtherOperand | OneMoreStep) else changed
    )


def joined_changes(one: Change, other: Change, code: Sequence[Instruction]) -> Change | None:
    """Return two changes as one; None where both change the same operand."""
    edits = dict(one.edits)
    for at, new in other.edits:
        merged = _merge_instructions(code[at], edits[at], new) if at in edits else new
        if merged is None:
            return None
        edits[at] = merged
    also = (other.line,) if other.line != one.line else ()
    prior = min(max(one.prior, other.prior) + 1, 3)
    return replace(one, edits=tuple(sorted(edits.items())), prior=prior, also=also)


def _merge_instructions(
    old: Instruction, one: tuple[Instruction, ...], other: tuple[Instruction, ...]
) -> tuple[Instruction, ...] | None:
    """Return an instruction with the operands of both changes, and the inserted instructions before it."""
    if not one or not other or one[-1].opcode != other[-1].opcode:
        return None
    if len(one) > 1 and len(other) > 1:  # both need the same spare register
        return None
    triples = list(zip(old.operands, one[-1].operands, other[-1].operands, strict=False))
    if any(was not in (first, second) for was, first, second in triples):
        return None
    operands = tuple(second if first == was else first for was, first, second in triples)
    return (*one[:-1], *other[:-1], replace(old, operands=operands))
