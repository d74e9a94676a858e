"""The choice of the cause among several changes that make a program right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import IntEnum

from grader.records.changes import (
    LEFT_OUT,
    C,
    FixedGuard,
    Kind,
    OneMoreStep,
    OtherHostCode,
    OtherOperand,
    OtherOperator,
    map_values,
)
from grader.simulator.changes import Change
from grader.source.analysis.passed import Blame

KINDS: tuple[Kind, ...] = (
    "comparison",
    "constant",
    "operator",
    "carried",
    "operand",
    "divisor",
    "guard",
    "condition",
    "order",
    "around",
    "argument",
    "host",
)
"""Kinds of changes, the likeliest first."""
_OF_SUMS = frozenset({"mul", "div", "add", "sub", "neg"})
"""Steps that act on a sum as on its terms (unlike a square, which does so only for a single term)."""


class Doubt(IntEnum):
    """Degrees of doubt about a change, where another one is right as well."""

    NONE = 0
    """None: one line of a kernel, or host code that shows itself what is right."""
    COMPUTED = 1
    """A host value with its parameter's name, which may be computed or used wrongly."""
    SEVERAL = 2
    """Several lines, or code of the author that would be useless."""
    UNSURE = 3
    """An additional step in host code, or an argument passed under its own name: the defect may be in the kernel."""
    MAKES_UP = 4
    """The host compensates for a step that the kernel lacks."""


def doubt(change: Change, given: Blame | None, *, turned: bool) -> Doubt:
    """Return the doubt about a change; `turned`: whether a launch could also swap two arguments."""
    changed = change.changed
    if isinstance(changed, OtherHostCode):
        return Doubt.MAKES_UP if changed.makes_up else Doubt.UNSURE if change.prior else Doubt.NONE
    if change.given:
        computed = given is not None and given.step.computed and not given.step.into_parameter
        return Doubt.NONE if given and given.sure else Doubt.COMPUTED if computed else Doubt.UNSURE
    exchanged = isinstance(changed, OtherOperand) and changed.both
    several = change.also or _leaves_out(change) or (turned and exchanged)
    return Doubt.SEVERAL if several else Doubt.NONE


def _leaves_out(change: Change) -> bool:
    """Whether code of the author is removed, which is seldom useless."""
    match change.changed:
        case OtherOperator(after=str() as part):
            return part in LEFT_OUT
        case FixedGuard():
            return True
    return False


def is_unnamed(change: Change) -> bool:
    """Whether it uses a value without a name in the text, which can't be a mix-up of names."""
    return isinstance(change.changed, OtherOperand) and not change.changed.after.named


def rank(change: Change, others: Sequence[Change]) -> tuple[int, int, int]:
    """Return the sort key of a change as the cause: its kind, and how few others are at its line."""
    alike = sum(one.line == change.line for one in others)
    return (KINDS.index(change.kind), -alike, change.line)


def step_of(change: Change) -> tuple[object, ...] | None:
    """Return the operation of a change, independent of the value that it is applied to."""
    match change.changed:
        case OneMoreStep(after=step, both=False) as more if step.name in _OF_SUMS and not (step.number or change.also):  # fmt: skip
            return change.program, change.function, _anywhere(more).after
    return None


def count_ways(right: Sequence[Change]) -> int:
    """Return the number of different right changes; the same step at several values counts once."""
    return len({step_of(one) or _place_and_sides(one) for one in right})


def _place_and_sides(change: Change) -> tuple[object, ...]:
    changed = _anywhere(change.changed)
    return change.line, change.kind, changed.before, changed.after


def _anywhere(changed: C) -> C:
    """Return a change of any value of the lines of its values."""
    return map_values(changed, lambda one: replace(one, nth=1, named=True))
