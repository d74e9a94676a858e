"""A reference's intermediate values for an element, and the first step of a submission that deviates from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from grader.judge.boxes import element_in_words
from grader.judge.inputs import Array
from grader.records import Constant, Evidence, Place, Scale, Slice
from grader.simulator.provenance import Origin, Step, Told

if TYPE_CHECKING:
    from grader.judge.asked import Asked

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
        others = _others(step.op.partition(".")[0], at, step.operands[1 - at], way.there)
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


def _others(operation: str, at: int, other: float, results: Array) -> Array:
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
    if step.value in TRIVIAL or not _is_met(step.value, way):
        return False
    others = [value for value in step.in_blocks if value not in TRIVIAL]
    return 2 * sum(_is_met(value, way) for value in others) >= len(others)


def _is_met(value: float, way: Way) -> bool:
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


def way_of(told: Told, asked: Sequence[Asked], workload: str, *, whole: bool) -> Iterator[Evidence]:
    """Yield the slice of the first wrong element of each result; `whole`: of all elements together."""
    known = [(a, o) for a, o in zip(asked, told.origins, strict=False) if o is not None]
    by_torch = not told.of_results
    if by_torch and len(asked) > 1:  # the stores of all kernels belong to no single element
        return
    for output in sorted({one.output for one, _ in known if one.wrong}):
        of_output = [(one, origin) for one, origin in known if one.output == output]
        one, origin = next((a, o) for a, o in of_output if a.wrong)
        end = _unfinished(told, one, origin)
        leaves = _leaving(told, of_output, end)
        computed = tuple(sorted({step.place.line for step in origin.computed}))
        lines = ", ".join(map(str, computed))
        stored = origin.stored[-1] if origin.stored else 0
        yield Evidence(
            kind="provenance",
            code="slice",
            text=f"{element_in_words(one.index)} is computed in line{'s' * (len(computed) > 1)} "
            f"{lines or 'no'} and stored in line {stored}",
            place=leaves.place if leaves else None,
            workload=workload,
            details=Slice(
                element=one.index,
                output=one.output,
                computed=computed,
                stored=stored,
                right=tuple(sorted({s.place.line for s in origin.steps if meets(s, one.way)})),
                constants=tuple(
                    Constant(line=at, used=used, value=value, chosen=chosen)
                    for at, used, value, chosen in origin.constants
                ),
                scales=tuple(_scales(origin, one.way)),
                whole=whole,
                unfinished=end is not None,
                by_torch=by_torch,
                beside=_beside(origin, [o for a, o in of_output if not a.wrong]),
            ),
        )


def _unfinished(told: Told, one: Asked, origin: Origin) -> Step | None:
    """Return the store of an element that lacks only its last step, if so."""
    by_torch = not told.of_results
    counts = [len(needs) for needs in one.needs.values()]
    dims = {size for tensor in told.tensors for size in tensor.shape}
    sizes = [size for size in ((1, *counts, *dims) if by_torch else counts) if size]
    return unfinished_store(origin, one.way, sizes, by_torch=by_torch)


def _leaving(
    told: Told, of_output: Sequence[tuple[Asked, Origin]], end: Step | None
) -> Step | None:
    """Return the step at which the first wrong element of a result deviates from its right computation."""
    wrong = [(one, origin) for one, origin in of_output if one.wrong]
    one, origin = wrong[0]
    counts = [len(needs) for needs in one.needs.values()]
    common = _mostly([(_right(o, a, by_torch=not told.of_results), o) for a, o in wrong])
    leaves = end or turning_step(origin, one.way)
    leaves = leaves or leaving_step(origin.steps, common, one.way)
    leaves = leaves or _choice(origin) or _seldom_met(origin, one.way)
    return (leaves and handed_over(leaves, origin.steps, one.way, counts, common)) or leaves


def _right(origin: Origin, asked: Asked, *, by_torch: bool) -> set[int]:
    way, counts = asked.way, [len(needs) for needs in asked.needs.values()]
    last = None if by_torch else next((s.number for s in reversed(origin.steps) if s.floats), None)
    return right_steps(origin.steps, way, last, counts)


def _choice(origin: Origin) -> Step | None:
    """Return the first comparison of a slice without arithmetic: an index, a count."""
    return next((step for step in origin.steps if step.op.startswith("setp")), None)


def _seldom_met(origin: Origin, way: Way) -> Step | None:
    """Return the last step that the fewest blocks come by a value of the reference's at, where not all do."""
    shares = [
        (
            sum(_is_met(v, way) for v in (step.value, *step.in_blocks)) / (1 + len(step.in_blocks)),
            at,
        )
        for at, step in enumerate(origin.steps)
        if step.floats and meets(step, way)
    ]
    share, at = min(((share, -at) for share, at in shares), default=(1.0, 0))
    return origin.steps[-at] if share < 1 else None


def _mostly(found: Sequence[tuple[set[int], Origin]]) -> set[int]:
    """Return the steps that are right in most of the wrong elements' slices that have them."""
    times = Counter(step.number for _, origin in found for step in origin.steps)
    right = Counter(number for numbers, _ in found for number in numbers)
    return {number for number, count in right.items() if 2 * count > times[number]}


def _scales(origin: Origin, way: Way) -> Iterator[Scale]:
    for step in origin.computed:
        if meets(step, way):
            continue
        operation = step.op.partition(".")[0]
        numbers = (*step.operands, step.value)
        if len(numbers) != 2 or not all(numbers) or not np.isfinite(numbers).all():
            continue
        quotient = step.value / step.operands[0]
        if operation in {"mul", "div"}:
            divides = operation == "div"
            value = 1 / quotient if divides else quotient
            yield Scale(line=step.place.line, value=value, divides=divides)


def _beside(origin: Origin, right: Sequence[Origin]) -> tuple[int, ...]:
    """Return the lines with steps in the slices of all right elements but not in this one's."""
    others = [one.computed for one in right]
    if origin.computed or not others or not all(others):
        return ()
    return tuple(sorted({s.call.line for one in others for s in one if s.call is not None}))
