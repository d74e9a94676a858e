"""Fixes of threads that return before a barrier: they stay, and a flag guards their stores."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from grader.records import Context, Edit, Finding, Fix
from grader.records.observed import kernel_of
from grader.repair.fixes.maker import FixMaker
from grader.source import Kernel, Source, Unit
from grader.source.analysis.cases import spans
from grader.source.code_edits import delete_lines_of, fix
from grader.source.cpp_reading import read_call
from grader.source.divergence import varying_variables
from grader.source.nodes import around, descendants, text
from grader.source.statements import indent_of, simple_statement


@dataclass(frozen=True)
class _Return:
    """An `if` directly in a kernel's body that ends with the one `return` in it."""

    branch: Node
    condition: str
    leave: Node
    """The `return`."""
    work: tuple[Node, ...]
    """The statements before it."""
    flag: str


def propose(finding: Finding, source: Source, _context: Context) -> Iterator[Fix]:
    """Yield the ways to keep the threads in the kernels of a proven finding.

    Stores to global memory are guarded, and loads by the flags of plain returns (the thread has no place in the data).
    """
    kernels = {kernel_of(item, spans(source)) for item in finding.evidence}
    every = ((unit, one) for unit in source.cuda for one in unit.kernels if one.name in kernels)
    for unit, kernel in every if not finding.fixes else ():
        returns = _returns(kernel.body) if kernel.body is not None else []
        if kernel.body is not None and returns:
            yield from _drop_return(unit, kernel.body, returns)
            loads = [one for one in returns if not one.work] or returns
            label = "keep the threads in the block instead of returning early"
            yield from fix(label, _edits(unit, kernel, returns, loads))


def _drop_return(unit: Unit, body: Node, returns: Sequence[_Return]) -> Iterator[Fix]:
    """Remove a return where the following code checks the same bounds itself."""
    if len(returns) != 1 or returns[0].work:
        return
    asked = re.findall(r"(\w+) >= (\w+)", returns[0].condition)
    later = (body.text or b"")[returns[0].branch.end_byte - body.start_byte :].decode()
    if asked and all(f"{index} < {size}" in later for index, size in asked):
        edits = [delete_lines_of(unit, returns[0].branch)]
        yield from fix("drop the early return: what follows asks for the bounds itself", edits)


def _holds(outer: Node, inner: Node) -> bool:
    return outer.start_byte <= inner.start_byte and inner.end_byte <= outer.end_byte


def _returns(body: Node) -> list[_Return]:
    """Return the early returns directly in a body that not all threads of a block take together."""
    apart = {"threadIdx", *varying_variables(body)}
    found: list[_Return] = []
    for branch in body.named_children:
        made = _return(branch, f"in_range_{len(found) + 1}" if found else "in_range")
        if made is not None and set(re.findall(r"\w+", made.condition)) & apart:
            found.append(made)
    return found


def _return(branch: Node, flag: str) -> _Return | None:
    inner = branch.child_by_field_name("consequence")
    condition = branch.child_by_field_name("condition")
    if branch.type != "if_statement" or inner is None or condition is None:
        return None
    if branch.child_by_field_name("alternative") is not None:
        return None
    leaves = list(descendants(inner, "return_statement"))
    steps = [n for n in inner.named_children if n.type != "comment"]
    steps = steps if inner.type == "compound_statement" else [inner]
    if len(leaves) != 1 or not steps or steps[-1] != leaves[0]:
        return None
    words = text(condition).removeprefix("(").removesuffix(")")
    return _Return(branch, words, leaves[0], tuple(steps[:-1]), flag)


def _edits(
    unit: Unit, kernel: Kernel, returns: Sequence[_Return], loads: Sequence[_Return]
) -> list[Edit | None]:
    edits = [_flag_return(unit, one, returns[:k]) for k, one in enumerate(returns)]
    pointers = {p.name for p in kernel.parameters if p.is_pointer}
    guarded: set[int] = set()
    for item in descendants(kernel.node, "subscript_expression"):
        before = [one for one in returns if one.branch.end_byte <= item.start_byte]
        if text(item.child_by_field_name("argument")) not in pointers or not before:
            continue
        if any(_holds(one.branch, item) for one in returns):
            continue
        target = _stored_by(item)
        if target is not None:
            if target.id not in guarded:
                guarded.add(target.id)
                start = target.start_byte
                edits.append(unit.edit(start, start, f"if ({before[-1].flag}) "))
            continue
        flags = [one.flag for one in before if one in loads]
        if flags and not any(outer.id in guarded for outer in around(item)):
            edits.append(
                unit.edit(item.start_byte, item.end_byte, f"({flags[-1]} ? {text(item)} : 0)")
            )
    return edits


def _flag_return(unit: Unit, one: _Return, before: Sequence[_Return]) -> Edit | None:
    """Return the edit that replaces a return by a flag, and keeps the work before it."""
    live = f"{before[-1].flag} && " if before else ""
    lines = [f"const bool {one.flag} = {live}!({one.condition});"]
    if one.work:
        lines.append(f"if ({live}({one.condition})) {{")
        lines += [f"    {text(step)}" for step in one.work]
        lines.append("}")
    new = f"\n{indent_of(unit, one.branch)}".join(lines)
    return unit.edit(one.branch.start_byte, one.branch.end_byte, new)


def _stored_by(item: Node) -> Node | None:
    """Return the expression statement that stores to a cell; None where the cell is only read."""
    for outer in around(item):
        if outer.type.endswith("statement"):
            return None
        left = outer.child_by_field_name("left") if outer.type == "assignment_expression" else None
        if left is not None and _holds(left, item) and left.type == "subscript_expression":
            return simple_statement(outer) if left == item else None
        if outer.type == "call_expression" and read_call(outer).name.startswith("atomic"):
            first = read_call(outer).arguments[:1]
            return simple_statement(outer) if first and _holds(first[0], item) else None
    return None


FIX = FixMaker(codes=("SYN003",), propose=propose, order=1)
