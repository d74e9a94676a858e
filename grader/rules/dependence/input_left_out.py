"""DEP001: elements of an input that a result depends on are never read."""

import ast
import math
from collections.abc import Iterator

from grader.records import Context, Dependence, Evidence, Extent, Finding, Fix, Place
from grader.records.observed import beside, differences, touched_by_lines
from grader.rules.page_file import rule_of
from grader.source import Source, nodes_under
from grader.source.analysis.on_the_way import line_place
from grader.source.analysis.overwritten import place_overwritten
from grader.source.analysis.started_kernels import launch_place
from grader.source.analysis.steering import Steering, around, bound_made, python_loop, steering_of
from grader.source.analysis.triton import kernels
from grader.source.code_edits import fix, replace_node

Said = tuple[str, Place | None, tuple[Fix, ...]]
"""Clause on the cause, its place, and its fix."""


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Report the loop, condition or launch that leaves them out."""
    for item, gap in differences(context, "missing", "skipped"):
        if item.place is None:
            continue
        forgotten = _say_forgotten(source, item.place) or (
            None if gap.read else _going_nowhere(source)
        )
        said, place, fixes = forgotten or _say_gap(
            source, context, item, gap, _cause(source, item.place, gap)
        )
        yield RULE.finding(
            place,
            f"{item.text}: {said}",
            confidence="proven",
            evidence=[item, *beside(context, gap)],
            fixes=fixes,
            cause="dependence",
            last_resort=True,
        )


def _say_forgotten(source: Source, place: Place) -> Said | None:
    """Report a loop that overwrites earlier iterations' values, whose reads the compiler removes."""
    anew = place_overwritten(source, [place])
    if anew is None:
        return None
    return (
        f"line {anew.line} sets anew in each turn what it could add to, so only the last turn counts",
        anew,
        (),
    )


def _going_nowhere(source: Source) -> Said | None:
    """Report an unused load, which the compiler removes, so that the last store lacks it."""
    for kernel in kernels(source):
        used = {n.id for n in nodes_under(kernel.node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}  # fmt: skip
        for access in kernel.accesses:
            named = [n for n, values in kernel.assigned.items() if any(v is access.call for v in values)]  # fmt: skip
            stores = [one.call for one in kernel.accesses if one.kind != "load"]
            if named and not used & set(named) and stores:
                said = f"line {access.call.lineno} loads `{named[0]}`, and nothing uses it before line {stores[-1].lineno} stores the result"
                return said, source.place(stores[-1]), ()
    return None


def _cause(source: Source, place: Place, gap: Dependence) -> Steering | None:
    """Return the loop with a too small bound, or else the condition that excludes the elements.

    Where there are as many loops as dims, each loop goes along the dim in its order. Otherwise elements that are missing
    at the end of a dim are left out by the outermost loop, and elements missing here and there by the innermost one. Loops
    in which other lines read all that they should are not the cause. An element that nothing stores is left out by a condition.
    """
    right = {
        one.place.line for line in gap.whole for one in around(source, line_place(source, line))
    }
    every = steering_of(source, place)
    found = [one for one in every if one.place.line not in right]
    loops = [one for one in found if one.is_loop]
    guards = [one for one in around(source, place) if not one.is_loop and not one.on_data]
    if guards and not gap.stored:
        return guards[0]
    if loops and len(loops) == gap.along[1]:
        return loops[gap.along[0]]
    if loops:
        cut = [one for one in loops if one.quotient]
        return (cut or loops)[-1 if any(_tail(extent) for extent in gap.extents) else 0]
    return found[0] if found else None


def _tail(extent: Extent) -> bool:
    return extent.step == 1 and extent.first > 0 and extent.last == extent.size - 1


def _say_gap(
    source: Source, context: Context, item: Evidence, gap: Dependence, cause: Steering | None
) -> Said:
    line = item.place.line if item.place else 0
    verb = "stores to" if gap.tensor.startswith("output") else "reads"
    launch = launch_place(source, line)
    if launch is not None and not (cause and cause.is_loop) and _every_thread(context, line):
        said = f"each thread reaches line {line} once, and there are too few threads"
        return said, launch, ()
    tail, tensor = any(map(_tail, gap.extents)), gap.tensor
    loop = python_loop(source, item.place, outermost=tail) if item.place and not cause else None
    if loop is not None:
        said = f"line {line} {verb} {tensor}, and the loop of line {loop.line} never gets to these elements"
        return said, loop, ()
    if cause is None:
        return f"line {line} never {verb} these elements of {tensor}", item.place, ()
    what = "loop" if cause.is_loop else "condition"
    cut = cause.quotient if cause.is_loop else None
    if cut is not None and not (
        cut[2].isdigit() and gap.count >= int(cut[2])
    ):  # a remainder is less
        node, left, right = cut
        rounded = f"({left} + {right} - 1) / {right}"
        edit = replace_node(cause.unit, node, rounded)
        said = (
            f"line {line} {verb} {tensor}, and the loop of line {cause.place.line} runs {left} / {right} "
            f"times, which cuts the remainder off; it takes `{rounded}`"
        )
        return said, cause.place, fix(f"round the number of turns up: `{rounded}`", [edit])
    made = bound_made(cause)
    bound = f", which line {made.line} computes the bound of," if made else ""
    return (
        f"line {line} {verb} {tensor}, and the {what} of line {cause.place.line}{bound} never lets it get to these elements",
        made or cause.place,
        (),
    )


def _every_thread(context: Context, line: int) -> bool:
    """Whether a line is reached once by each thread, so that more threads would read more."""
    threads = {math.prod((*launch.grid, *launch.block)) for launch in context.launches}
    return any(
        details.times in threads
        for item, details in touched_by_lines(context)
        if item.place is not None and item.place.line == line and details.access != "atomic"
    )


RULE = rule_of(__file__, check)
