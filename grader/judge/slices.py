"""The slice of a wrong element: the lines that compute it, and the first of them that deviates from the reference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from grader.judge.asked import Asked
from grader.judge.boxes import element_in_words
from grader.judge.way import (
    Way,
    handed_over,
    is_met,
    leaving_step,
    meets,
    right_steps,
    turning_step,
    unfinished_store,
)
from grader.records import Constant, Evidence, Scale, Slice
from grader.simulator.provenance import Origin, Step, Told


def slices_of(
    told: Told, asked: Sequence[Asked], workload: str, *, whole: bool
) -> Iterator[Evidence]:
    """Yield the slice of the first wrong element of each result; `whole`: of all elements together."""
    known = [(a, o) for a, o in zip(asked, told.origins, strict=False) if o is not None]
    by_torch = not told.of_results
    if by_torch and len(asked) > 1:  # the stores of all kernels belong to no single element
        return
    for output in sorted({one.output for one, _ in known if one.wrong}):
        of_output = [(one, origin) for one, origin in known if one.output == output]
        one, origin = next((a, o) for a, o in of_output if a.wrong)
        end = _last_store_lacking(told, one, origin)
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


def _last_store_lacking(told: Told, one: Asked, origin: Origin) -> Step | None:
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
    common = _mostly([(_right_of_origin(o, a, by_torch=not told.of_results), o) for a, o in wrong])
    leaves = end or turning_step(origin, one.way)
    leaves = leaves or leaving_step(origin.steps, common, one.way)
    leaves = leaves or _choice(origin) or _seldom_met(origin, one.way)
    return (leaves and handed_over(leaves, origin.steps, one.way, counts, common)) or leaves


def _right_of_origin(origin: Origin, asked: Asked, *, by_torch: bool) -> set[int]:
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
            sum(is_met(v, way) for v in (step.value, *step.in_blocks)) / (1 + len(step.in_blocks)),
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
