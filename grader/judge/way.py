"""A reference's intermediate values for an element, and the first step of a submission that deviates from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from grader.judge.inputs import Array
from grader.records import Place
from grader.simulator.provenance import Origin, Step

SAME, SAME_OF_FEW, SAME_OF_MANY = 2e-5, 2.5e-6, 4e-7
"""Relative difference at which a step's value counts as one of the reference's: smaller where there are more of
them."""
PASS_ON = ("st.", "ld.", "shfl", "mov", "cvt")
"""Instructions that pass their operand on."""
STORES = ("st.global", "atom", "red")
"""Instructions that write a value to global memory; an atomic one also computes it."""
TRIVIAL = frozenset(float(number) for number in range(-256, 257))
"""Values that arise in many ways: counts, rounded values."""


@dataclass(frozen=True)
class Way:
    """The reference's intermediate values for one element."""

    there: Array
    """Value of each step's result at the element's position; NaN where there is none."""
    few: Array = field(default_factory=lambda: np.zeros(0))
    """All values of its small results (a mean of each row), sorted."""
    many: Array = field(default_factory=lambda: np.zeros(0))
    """All values of its larger results (a difference of two inputs), sorted; only a nearly equal number matches."""


def right_steps(
    steps: Sequence[Step], way: Way, last: int | None, counts: Sequence[int] = ()
) -> set[int]:
    """Return the numbers of the steps whose values are intermediate values of the reference, and of the steps before them.

    It may come by the latter in another way, and have the mean of so many (`counts`) of which a step gives the sum.
    `last` gives the element itself, which is wrong.
    """
    made = [step for step in steps if _computes(step) and step.number != last]
    right = {step.number for step in made if meets(step, way) or _sums(step, way, counts)}
    by_number = {step.number: step for step in steps}
    waiting = list(right)
    while waiting:
        step = by_number.get(waiting.pop())
        more = step.uses - right if step is not None else frozenset()
        right |= more
        waiting += more
    return right


def _sums(step: Step, way: Way, counts: Sequence[int]) -> bool:
    return any(_stands(way, step.value / count) for count in counts if count > 1 and step.value)


def _computes(step: Step) -> bool:
    """Whether it computes a value: a load only returns a stored one."""
    return step.floats or step.op.startswith(STORES[1:])


def leaving_step(steps: Sequence[Step], right: set[int], way: Way) -> Step | None:
    """Return the first step whose value is no intermediate value of the reference, though its operands are right.

    A line counts by what goes on from it: what it is computed from within the line is of no algebra. One that
    takes a value which the reference comes by is meant before one whose values may be of another algebra.
    """
    by_number = {step.number: step for step in steps}
    used_by: dict[int, set[Place | None]] = {}
    for step in steps:
        for number in step.uses:
            stored = step.op.startswith(("st.", *STORES))
            used_by.setdefault(number, set()).add(None if stored else step.place)
    left = [step for step in steps if step.floats and step.number not in right]
    inner = {step.number for step in left if used_by.get(step.number) == {step.place}}
    ends = [s for s in left if s.number not in inner] or left
    wrong = {step.number for step in ends}
    begins = [s for s in ends if not wrong & _taken_from_other_lines(s, by_number)]
    met = {step.number for step in steps if meets(step, way)}
    found = begins or ends
    return next((s for s in found if _values_of(s, by_number) & met), next(iter(found), None))


def _taken_from_other_lines(step: Step, by_number: Mapping[int, Step]) -> set[int]:
    """Return the steps of other lines that computed the operands of a step's line."""
    found = _values_of(step, by_number, within=step.place)
    return {n for n in found if by_number[n].place != step.place}


def _values_of(step: Step, by_number: Mapping[int, Step], within: Place | None = None) -> set[int]:
    """Return the steps that computed a step's operands: passed through memory, within a line, or directly."""
    found: set[int] = set()
    waiting = list(step.uses)
    while waiting:
        number = waiting.pop()
        before = by_number.get(number)
        if before is None or number in found:
            continue
        found.add(number)
        if before.op.startswith(PASS_ON) or before.place == within:
            waiting += before.uses
    return found


def unfinished_store(
    origin: Origin, way: Way, sizes: Sequence[int], *, by_torch: bool = False
) -> Step | None:
    """Return the store of an intermediate value of the reference, or of its value at another element.

    The reference may have it divided by one of some `sizes`, a mean. Where torch computes the result from many stores,
    their sum counts.
    """
    steps = origin.steps
    ends = [step for step in steps if step.op.startswith(STORES)]
    made = [step for step in steps if _computes(step)]
    if not ends or not made:
        return None
    value = origin.total if by_torch else made[-1].value
    if not by_torch and value in TRIVIAL:
        return None
    met = any(_stands(way, value / size) for size in sizes)
    return ends[-1] if met or (not by_torch and meets(made[-1], way)) else None


def turning_step(origin: Origin, way: Way) -> Step | None:
    """Return the last step that subtracts or negates, where the element is the reference's with the other sign."""
    made = origin.computed
    turned = bool(made) and _stands(way, -made[-1].value) and not _stands(way, made[-1].value)
    turns = [step for step in made if step.op.startswith(("sub", "neg"))]
    return turns[-1] if turned and turns else None


def handed_over(
    step: Step, steps: Sequence[Step], way: Way, counts: Sequence[int], right: set[int]
) -> Step | None:
    """Return the store of the value that a step loads where the reference uses another value.

    With that other value, which the reference comes by, the step would give a value of the reference's; or
    it is the mean of so many (`counts`) whose sum was stored. A store that another line makes something `right`
    of is right.
    """
    by_number = {one.number: one for one in steps}
    before = [by_number[number] for number in sorted(_values_of(step, by_number), reverse=True)]
    meant = {
        number
        for one in steps
        if one.floats and one.number in right
        for number in _values_of(one, by_number)
        if by_number[number].place != one.place
    }
    stores = [one for one in before if one.op.startswith("st.") and one.number not in meant]
    for at, taken in enumerate(step.operands if len(step.operands) == 2 else ()):
        store = next((one for one in stores if taken in one.operands), None)
        others = _other_operands(step.op.partition(".")[0], at, step.operands[1 - at], way.there)
        wanted = [v for v in others if np.isfinite(v) and abs(v - taken) > SAME * abs(v)]
        means = [taken / count for count in counts if count > 1]
        if store is not None and any(_stands(way, value) for value in wanted):
            return store
        if store is not None and any(_stands(way, value) for value in means):
            return _taken_from(store, before, steps) or store
    return None


def _taken_from(store: Step, before: Sequence[Step], steps: Sequence[Step]) -> Step | None:
    """Return another line's load of a sum that is accumulated in memory."""
    adds = any(one.place == store.place and one.op.startswith("ld.") for one in steps)
    loads = [one for one in before if one.op.startswith("ld.")]
    after = [one for one in loads if one.place.line > store.place.line]
    return after[-1] if adds and after else None


def _other_operands(operation: str, at: int, other: float, results: Array) -> Array:
    """Return the operands with which an operation would give each of these results."""
    with np.errstate(all="ignore"):
        if operation == "add":
            return results - other
        if operation == "sub":
            return other - results if at else results + other
        if operation == "mul":
            return results / other
        return other / results if at else results * other if operation == "div" else results[:0]


def meets(step: Step, way: Way) -> bool:
    """Whether a step gives an intermediate value of the reference, in most of the blocks involved."""
    if step.value in TRIVIAL or not is_met(step.value, way):
        return False
    others = [value for value in step.in_blocks if value not in TRIVIAL]
    return 2 * sum(is_met(value, way) for value in others) >= len(others)


def is_met(value: float, way: Way) -> bool:
    """Whether the reference comes by a value, at the element itself or elsewhere."""
    return (
        _stands(way, value)
        or _among(way.few, value, SAME_OF_FEW)
        or _among(way.many, value, SAME_OF_MANY)
    )


def _stands(way: Way, value: float) -> bool:
    """Whether the reference has a value at the element's position."""
    with np.errstate(all="ignore"):
        return bool(np.any(np.abs(way.there - value) <= SAME * np.abs(way.there)))


def _among(values: Array, value: float, distance: float) -> bool:
    """Whether a sorted array has a value this near."""
    at = np.searchsorted(values, value - distance * abs(value))
    return bool(at < len(values) and values[at] <= value + distance * abs(value))
