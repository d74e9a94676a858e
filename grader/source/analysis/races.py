"""Races seen in runs: grouping, and whether they are within one warp."""

import re
from collections.abc import Collection, Iterable, Mapping

from tree_sitter import Node

from grader.records import Context, Evidence, Race
from grader.records.observed import kernel_of, observed_evidence
from grader.source import Source, Unit
from grader.source.analysis.cases import spans
from grader.source.cpp import Declare
from grader.source.nodes import around, text

_WARP = re.compile(r"<=?\s*(?:31|32|warpSize|WARP_?SIZE)\b|\bw\w*\s*==\s*0\b", re.IGNORECASE)
"""Patterns of conditions that admit only one warp: `tid < 32`, `warp_id == 0`."""


def lines_of(items: Iterable[Evidence]) -> set[int]:
    """Return the lines of all accesses in the evidence."""
    places = (place for item in items for place in (item.place, *item.related))
    return {place.line for place in places if place is not None}


def is_within_program(item: Evidence) -> bool:
    """Whether the race is between warps of one Triton program, in global memory."""
    return isinstance(item.details, Race) and item.details.within_program


def join_races(items: Iterable[Evidence]) -> list[list[Evidence]]:
    """Return groups of races: those that share a line lack the same barrier."""
    groups: list[list[Evidence]] = []
    for item in items:
        mine = [group for group in groups if lines_of(group) & lines_of([item])]
        groups = [group for group in groups if group not in mine]
        groups.append([*(one for group in mine for one in group), item])
    return groups


def of_one_warp(source: Source, items: Iterable[Evidence]) -> bool:
    """Whether only the threads of one warp reach both accesses of a race."""
    lines = sorted(lines_of(items))
    uses = [use for unit in source.cuda for line in lines if (use := shared_use(unit, line))]
    return len(uses) == len(lines) > 0 and all(map(_in_one_warp, uses))


def _in_one_warp(use: Node) -> bool:
    branches = (outer for outer in around(use) if outer.type == "if_statement")
    return any(_WARP.search(text(one.child_by_field_name("condition"))) for one in branches)


def shared_on(unit: Unit, lines: Collection[int]) -> list[Declare]:
    """Return the shared arrays that each of these lines names."""
    nodes = tuple(unit.nodes("identifier"))
    named = {line: {text(n) for n in nodes if unit.place(n).line == line} for line in lines}
    arrays = [array for function in unit.functions for array in function.shared]
    return [one for one in arrays if all(one.name in names for names in named.values())]


def shared_use(unit: Unit, line: int) -> Node | None:
    """Return the use of a shared array on a line of device code, else the first name there."""
    shared = {array.name for function in unit.functions for array in function.shared}
    here = [
        node
        for node in unit.nodes("identifier")
        if unit.place(node).line == line and unit.in_device_code(node)
    ]
    named = [node for node in here if text(node) in shared]
    return next(iter((*named, *here)), None)


def starved_reads(source: Source, context: Context) -> Mapping[str, tuple[Evidence, ...]]:
    """Return the unwritten reads seen in runs where threads had returned, by kernel."""
    lines = spans(source)
    left = {kernel_of(item, lines) for item in observed_evidence(context, "exited")}
    if not left:
        return {}
    found: dict[str, tuple[Evidence, ...]] = {}
    for item in observed_evidence(context, "uninit"):
        kernel = kernel_of(item, lines)
        if kernel in left:
            found[kernel] = (*found.get(kernel, ()), item)
    return found
