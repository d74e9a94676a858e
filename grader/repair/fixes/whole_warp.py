"""Fixes of exchanges in a part of a warp: the whole warp takes part, lanes without a value bring a neutral one; a full mask."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile

from tree_sitter import Node

from grader.records import Context, Edit, Evidence, Finding, Fix
from grader.repair.fixes.maker import FixMaker, of_proofs
from grader.source import Source, Unit
from grader.source.code_edits import fix, replace_node
from grader.source.cpp_reading import read_call, variables
from grader.source.nodes import around, descendants, text

_BOUND = re.compile(r"(threadIdx\.x|\w+)\s*<\s*(.+)", re.DOTALL)
_THREAD = re.compile(r"(?:\((?:unsigned )?int\)\s*)?threadIdx\.x")
_LANE = re.compile(
    r"(?:threadIdx\.x|\w+)\s*(?:%\s*(?:32|warpSize|WARP_SIZE)|&\s*(?:31|0x1[fF]|\(\w+ - 1\)))"
)
_WIDE = re.compile(r"32|warpSize|WARP_?SIZE|warp_size")
_FIRST = re.compile(r"\bw\w*\s*==\s*0\b")
"""Pattern of conditions for the first warp alone: `warp_id == 0`."""
_SHUFFLE = re.compile(r"__(?:shfl|reduce)_\w*sync\b")
_NUMBER = re.compile(r"(0[xX][0-9a-fA-F]+|\d+)[uUlL]*")
_AND, _OR = re.compile(r"\s*&&\s*(?![^()]*\))"), re.compile(r"\|\|(?![^()]*\))")
"""Outside of parentheses."""
ALL = 0xFFFFFFFF
LEFT_OUT = frozenset({"sync-lane-not-in-mask", "shuffle-absent-lane"})
"""Codes of evidence that lanes take part which the mask leaves out, or are read."""


@dataclass(frozen=True)
class _Branch:
    """A branch with an exchange that some lanes of a warp don't take."""

    node: Node
    index: str
    bound: str
    """What the lane's number is compared with."""
    condition: str
    """Its condition when the whole warp is admitted."""


def whole_warp(source: Source) -> tuple[Fix, ...]:
    """Return the fix that admits all lanes to the branches where a warp exchanges values.

    What such a branch reads of an array at the lane's place is read only where it was before. All branches at
    once: a sum and a maximum that are made alike are wrong alike.
    """
    branches = ((unit, branch) for unit in source.units for branch in _branches(unit))
    edits = [edit for unit, branch in branches for edit in _edits(unit, branch)]
    return fix("let the whole warp take part in the exchange", edits)


def _branches(unit: Unit) -> Iterator[_Branch]:
    helpers = {f.name for f in unit.functions if f.runs == "device" and _SHUFFLE.search(f.text)}
    for node in unit.nodes("if_statement"):
        inside = node.child_by_field_name("consequence")
        if inside is None or node.child_by_field_name("alternative") is not None:
            continue
        names = [read_call(call).name for call in descendants(inside, "call_expression")]
        if any(name in helpers or _SHUFFLE.fullmatch(name) for name in names):
            branch = _taken_by_some(unit, node)
            yield from [branch] if branch is not None else ()


def _taken_by_some(unit: Unit, node: Node) -> _Branch | None:
    """Return the branch, if one part of its condition is what keeps lanes of the first warp away."""
    words = text(node.child_by_field_name("condition"))
    parts = _AND.split(words.removeprefix("(").removesuffix(")"))
    if _OR.search(words.removesuffix(")")):
        return None
    function = unit.function_around(node)
    made = {o.name: text(o.value) for o in variables(function.node)} if function else {}
    for at, part in enumerate(parts):
        found = _BOUND.fullmatch(part)
        if found is None or _WIDE.fullmatch(found[2]):
            continue
        others = [*parts[:at], *parts[at + 1 :]]
        first = any(_FIRST.search(other) for other in others)
        value = made.get(found[1], found[1])
        if _THREAD.fullmatch(value) or (first and _LANE.fullmatch(value.strip("() "))):
            kept = others if first else [*parts[:at], f"{found[1]} < 32", *parts[at + 1 :]]
            return _Branch(node, found[1], found[2], " && ".join(kept))
    return None


def _edits(unit: Unit, branch: _Branch) -> Iterator[Edit | None]:
    asked = branch.node.child_by_field_name("condition")
    yield replace_node(unit, asked, f"({branch.condition})") if asked is not None else None
    for read in descendants(branch.node, "subscript_expression"):
        index = text(read.child_by_field_name("indices")).strip("[]")
        parent = read.parent
        stored = parent is not None and parent.child_by_field_name("left") == read
        plain = stored and parent is not None and parent.type == "assignment_expression"
        if index == branch.index and not plain and not _is_lane_asked(read, branch):
            words = (
                f"{branch.index} < {branch.bound} ? {text(read)} : {_neutral(unit, branch.node)}"
            )
            alone = parent is not None and parent.type == "init_declarator"
            yield replace_node(unit, read, words if alone else f"({words})")


def _is_lane_asked(read: Node, branch: _Branch) -> bool:
    """Whether a read stands under a condition on the lane already."""
    inside = takewhile(lambda outer: outer != branch.node, around(read))
    kinds = {"conditional_expression", "if_statement"}
    conditions = (o.child_by_field_name("condition") for o in inside if o.type in kinds)
    return any(branch.index in text(condition) for condition in conditions)


def _neutral(unit: Unit, branch: Node) -> str:
    """Return the neutral value of a branch's exchange, from its operation or its helper's."""
    own = {f.name: f.text for f in unit.functions if f.runs == "device"}
    called = [read_call(call).name for call in descendants(branch, "call_expression")]
    words = " ".join([text(branch), *(own.get(name, "") for name in called)])
    if "max" in words.lower():
        return "-INFINITY"
    if "min" in words.lower().replace("__min", "min"):
        return "INFINITY"
    return "1" if "*=" in words else "0"


def full_mask(source: Source, item: Evidence) -> Iterator[Fix]:
    """Yield the fix that names every lane, where a run saw lanes missing in the mask."""
    line = item.place.line if item.place is not None and item.code in LEFT_OUT else 0
    for unit in source.cuda if line else ():
        edits = []
        for call in unit.calls:
            place = unit.place(call.node)
            mask = call.arguments[0] if call.name.endswith("_sync") and call.arguments else None
            written = (
                _NUMBER.fullmatch(text(mask)) if place.line <= line <= place.end_line else None
            )
            if mask is not None and written and int(written[1], 0) != ALL:
                edits.append(replace_node(unit, mask, "0xffffffff"))
        yield from fix("name all 32 lanes in the mask", edits)


def propose(finding: Finding, source: Source, _context: Context) -> tuple[Fix, ...]:
    """Return the fix of exchanges; of a barrier only where nothing else is proposed."""
    return () if finding.rule == "SYN003" and finding.fixes else whole_warp(source)


MASK = FixMaker(codes=("SYN004",), propose=of_proofs(full_mask))
WHOLE = FixMaker(codes=("SYN003", "SYN004"), propose=propose)
