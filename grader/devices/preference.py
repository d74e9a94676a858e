"""Which of several changes that all make a program right is told as its cause."""

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
    "around",
    "argument",
    "host",
)
"""What a change can be of, the likeliest first."""
_OF_SUMS = frozenset({"mul", "div", "add", "sub", "neg"})
"""Steps that do with a sum what they do with its terms: a square of each is not the square of the sum, though it is where there is one."""


class Doubt(IntEnum):
    """What speaks for another change that is right as well."""

    NONE = 0
    """One line of a kernel, or host code that says itself what it should be."""
    COMPUTED = 1
    """A value of the host that is passed under its parameter's name: it may be computed wrongly, or used wrongly."""
    SEVERAL = 2
    """Several lines, or something that the author wrote for nothing."""
    UNSURE = 3
    """A step more in host code, or an argument that is passed under its own name: the kernel may lack or use it."""
    MAKES_UP = 4
    """The host does with a kernel's result what the kernel lacks."""


def doubt(change: Change, given: Blame | None, *, turned: bool) -> Doubt:
    """Return what speaks against a change; `turned`: whether a launch could give two arguments the other way round as well."""
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
    """Whether something that the author wrote is no longer done: seldom is it written for nothing."""
    match change.changed:
        case OtherOperator(after=str() as part):
            return part in LEFT_OUT
        case FixedGuard():
            return True
    return False


def is_unnamed(change: Change) -> bool:
    """Whether it takes a value that the text has no name for: nobody has written another name for it."""
    return isinstance(change.changed, OtherOperand) and not change.changed.after.named


def rank(change: Change, others: Sequence[Change]) -> tuple[int, int, int]:
    """Return what speaks against a change as the cause: its kind, and how few others say its line."""
    alike = sum(one.line == change.line for one in others)
    return (KINDS.index(change.kind), -alike, change.line)


def step_of(change: Change) -> tuple[object, ...] | None:
    """Return what a change does with a value of its function, the same for each value that it may be done with."""
    match change.changed:
        case OneMoreStep(after=step, both=False) as more if step.name in _OF_SUMS and not (step.number or change.also):  # fmt: skip
            return change.program, change.function, _anywhere(more).after
    return None


def count_ways(right: Sequence[Change]) -> int:
    """Return how many different things are right; the same step at several values is one."""
    return len({step_of(one) or _place_and_sides(one) for one in right})


def _place_and_sides(change: Change) -> tuple[object, ...]:
    changed = _anywhere(change.changed)
    return change.line, change.kind, changed.before, changed.after


def _anywhere(changed: C) -> C:
    """Return a change of any value of the lines of its values."""
    return map_values(changed, lambda one: replace(one, nth=1, named=True))
