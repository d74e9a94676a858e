"""The fix of an exchange in a part of a warp: the whole warp takes part, and lanes without a value bring a neutral one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from grader.records import Context, Edit, Finding, Fix
from grader.repair.fixes.maker import FixMaker
from grader.source import Source, Unit
from grader.source.code_edits import fix, replace_node
from grader.source.cuda_code import around, cuda_code, descendants, read_call, text, units

_BOUND = re.compile(r"(threadIdx\.x|\w+)\s*<\s*(.+)", re.DOTALL)
_THREAD = re.compile(r"(?:\((?:unsigned )?int\)\s*)?threadIdx\.x")
_LANE = re.compile(
    r"(?:threadIdx\.x|\w+)\s*(?:%\s*(?:32|warpSize|WARP_SIZE)|&\s*(?:31|0x1[fF]|\(\w+ - 1\)))"
)
_WIDE = re.compile(r"32|warpSize|WARP_?SIZE|warp_size")
_FIRST = re.compile(r"\bw\w*\s*==\s*0\b")
"""What the first warp alone goes by: `warp_id == 0`."""
_SHUFFLE = re.compile(r"__(?:shfl|reduce)_\w*sync\b")


@dataclass(frozen=True)
class _Branch:
    """A branch with an exchange in it, that lanes of one warp don't take."""

    node: Node
    index: str
    bound: str
    """What the lane's number is compared with."""
    condition: str
    """What it asks for once the whole warp is let in."""


def whole_warp(source: Source) -> tuple[Fix, ...]:
    """Return the fix that lets all lanes into the branches where a warp exchanges values.

    What such a branch reads of an array at the lane's place is read only where it was before. All branches at
    once: a sum and a maximum that are made alike are wrong alike.
    """
    edits: list[Edit | None] = []
    for unit in units(source):
        for branch in _branches(unit):
            edits += _edits(unit, branch)
    return fix("let the whole warp take part in the exchange", edits)


def _branches(unit: Unit) -> Iterator[_Branch]:
    helpers = {f.name for f in unit.functions if f.runs == "device" and _SHUFFLE.search(f.text)}
    code = cuda_code(unit)
    for node in code.of("if_statement"):
        inside = node.child_by_field_name("consequence")
        if inside is None or node.child_by_field_name("alternative") is not None:
            continue
        names = [read_call(call).last for call in descendants(inside, "call_expression")]
        if not any(name in helpers or _SHUFFLE.fullmatch(name) for name in names):
            continue
        parts = [_spelled(one) for one in _conjuncts(node.child_by_field_name("condition"))]
        lanes = (_lane(unit, node, parts, at) for at in range(len(parts)))
        yield from [branch for branch in lanes if branch is not None][:1]


def _conjuncts(node: Node | None) -> Iterator[Node]:
    if node is None:
        return
    if node.type in {"condition_clause", "parenthesized_expression"}:
        for inner in node.named_children:
            yield from _conjuncts(inner)
    elif node.type == "binary_expression" and text(node.child_by_field_name("operator")) == "&&":
        yield from _conjuncts(node.child_by_field_name("left"))
        yield from _conjuncts(node.child_by_field_name("right"))
    else:
        yield node


def _spelled(part: Node) -> str:
    either = part.type == "binary_expression" and text(part.child_by_field_name("operator")) == "||"
    return f"({text(part)})" if either else text(part)


def _lane(unit: Unit, branch: Node, parts: Sequence[str], at: int) -> _Branch | None:
    """Return the branch, if one part of its condition is what keeps lanes of the first warp away."""
    found = _BOUND.fullmatch(parts[at])
    if found is None or _WIDE.fullmatch(found[2].strip()):
        return None
    index, bound = found[1], found[2].strip()
    made = _value(unit, branch, index)
    others = [*parts[:at], *parts[at + 1 :]]
    first = any(_FIRST.search(other) for other in others)
    if not _THREAD.fullmatch(made) and not (first and _LANE.fullmatch(made.strip("() "))):
        return None
    kept = others if first else [*parts[:at], f"{index} < 32", *parts[at + 1 :]]
    return _Branch(branch, index, bound, " && ".join(kept))


def _value(unit: Unit, branch: Node, name: str) -> str:
    """Return what a variable is made of in the function around a branch."""
    if name == "threadIdx.x":
        return name
    function = cuda_code(unit).function(branch)
    for declared in descendants(function.node, "init_declarator") if function else ():
        if text(declared.child_by_field_name("declarator")) == name:
            return text(declared.child_by_field_name("value"))
    return ""


def _edits(unit: Unit, branch: _Branch) -> Iterator[Edit | None]:
    asked = branch.node.child_by_field_name("condition")
    yield replace_node(unit, asked, f"({branch.condition})") if asked is not None else None
    for read in descendants(branch.node, "subscript_expression"):
        index = text(read.child_by_field_name("indices")).strip("[]")
        if index == branch.index and not _is_stored(read) and not _asked(read, branch):
            neutral = _neutral(unit, branch.node)
            words = f"({branch.index} < {branch.bound} ? {text(read)} : {neutral})"
            alone = read.parent is not None and read.parent.type == "init_declarator"
            yield replace_node(unit, read, words[1:-1] if alone else words)


def _is_stored(read: Node) -> bool:
    parent = read.parent
    return (
        parent is not None
        and parent.type == "assignment_expression"
        and parent.child_by_field_name("left") == read
    )


def _asked(read: Node, branch: _Branch) -> bool:
    """Whether a read stands under a condition on the lane already."""
    for outer in around(read):
        if outer == branch.node:
            return False
        if outer.type in {"conditional_expression", "if_statement"}:
            if branch.index in text(outer.child_by_field_name("condition")):
                return True
    return False


def _neutral(unit: Unit, branch: Node) -> str:
    """Return what changes nothing in the exchange of a branch, by what it or its helper is made of."""
    own = {f.name: f.text for f in unit.functions if f.runs == "device"}
    called = [read_call(call).last for call in descendants(branch, "call_expression")]
    words = " ".join([text(branch), *(own.get(name, "") for name in called)])
    if "max" in words.lower():
        return "-INFINITY"
    if "min" in words.lower().replace("__min", "min"):
        return "INFINITY"
    return "1" if "*=" in words else "0"


def propose(finding: Finding, source: Source, _context: Context) -> tuple[Fix, ...]:
    """Return the fix of exchanges; of a barrier only where nothing else is proposed."""
    return () if finding.rule == "SYN003" and finding.fixes else whole_warp(source)


FIX = FixMaker(codes=("SYN003", "SYN004"), propose=propose)
