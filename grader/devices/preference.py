"""Which of several changes that all make a program right is told as its cause."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from grader.simulator.changes import Change, Kind
from grader.simulator.changes.everywhere import without_count
from grader.source.analysis.passed import Blame

KINDS: tuple[Kind, ...] = (
    "comparison",
    "constant",
    "operator",
    "carried",
    "operand",
    "guard",
    "condition",
    "around",
    "argument",
    "host",
)
"""What a change can be of, the likeliest first."""
_OF_SUMS = frozenset({"mul", "div", "add", "sub", "neg"})
"""Steps that do with a sum what they do with its terms: a square of each is not the square of the sum, though it is where there is one."""
_LEAVES_OUT = ("only the", "without", "always", "never")
"""How changes are called under which something that the author wrote is no longer done."""


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
    if change.text:
        return Doubt.MAKES_UP if change.text.makes_up else Doubt.UNSURE if change.prior else Doubt.NONE  # fmt: skip
    if change.given:
        computed = given is not None and given.step.computed and not given.step.into_parameter
        return Doubt.NONE if given and given.sure else Doubt.COMPUTED if computed else Doubt.UNSURE
    several = change.also or _leaves_out(change) or (turned and change.both == "exchanged")
    return Doubt.SEVERAL if several else Doubt.NONE


def _leaves_out(change: Change) -> bool:
    """Whether something that the author wrote is no longer done: seldom is it written for nothing."""
    return change.after.startswith(_LEAVES_OUT)


def is_unnamed(change: Change) -> bool:
    """Whether it takes a value that the text has no name for: nobody has written another name for it."""
    return change.kind == "operand" and "after" in change.nameless


def rank(change: Change, others: Sequence[Change]) -> tuple[int, int, int]:
    """Return what speaks against a change as the cause: its kind, and how few others say its line."""
    alike = sum(one.line == change.line for one in others)
    return (KINDS.index(change.kind), -alike, change.line)


def step_of(change: Change) -> tuple[object, ...] | None:
    """Return what a change does with a value of its function, the same for each value that it may be done with."""
    alone = change.kind == "around" and not (change.both or change.also)
    if not alone or change.after.partition(".")[0] not in _OF_SUMS:
        return None
    return change.program, change.function, without_count(change.after)


def count_ways(right: Sequence[Change]) -> int:
    """Return how many different things are right; the same step at several values is one."""
    return len({step_of(one) or _in_words(one) for one in right})


def _in_words(change: Change) -> tuple[object, ...]:
    return change.line, change.kind, without_count(change.before), without_count(change.after)
