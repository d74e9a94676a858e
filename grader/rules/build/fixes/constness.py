"""A fix: a variable or a pointer that is declared const and written to."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from grader.records import Edit
from grader.rules.build.fixes.undefined import line_of
from grader.source.code_edits import fix
from grader.source.cuda_code import cuda_code, descendants, text

if TYPE_CHECKING:
    from tree_sitter import Node

    from grader.records import Evidence, Fix
    from grader.source import Source, Unit

_CONSTANT = re.compile(
    r"expression must be a modifiable lvalue|assignment of read-only|cannot assign to|read-only variable is not assignable"
)


_CAST_AWAY = re.compile(
    r"cast(?: from .*?)? casts? away|cannot cast away const|casts away qualifiers"
)
_CAST = re.compile(r"\b(reinterpret_cast|static_cast)<\s*(?!const\b)(\w+\s*\*)\s*>")


def cast_to_const(source: Source, item: Evidence) -> tuple[Fix, ...]:
    """Cast a pointer to const to one of another type that is const as well."""
    if item.place is None or not _CAST_AWAY.search(item.said):
        return ()
    start = source.positions.offset(item.place.line, 0)
    edits = [
        Edit(start=start + found.start(2), end=start + found.start(2), text="const ")
        for found in _CAST.finditer(source.lines[item.place.line - 1])
    ]
    return fix("keep the pointer's const in the cast", edits)


_TWO_VALUES = re.compile(
    r"^\s*[\w:<>*& ]+=[^=;{}()<>!]*(?:\([^=;{}]*\))?[^=;{}<>!]*?(\s*=(?!=)[^;]*);"
)


def one_value(source: Source, item: Evidence) -> tuple[Fix, ...]:
    """Keep the first of two values that a line gives a variable: `n = a + b = c`."""
    if item.place is None or not _CONSTANT.search(item.said):
        return ()
    found = _TWO_VALUES.match(source.lines[item.place.line - 1])
    if not found:
        return ()
    start = source.positions.offset(item.place.line, 0)
    edit = Edit(start=start + found.start(1), end=start + found.end(1), text="")
    return fix("assign one value, not two", [edit])


def writable(source: Source, item: Evidence) -> tuple[Fix, ...]:
    """Take the `const` off what is written to on a line: a parameter, or a local variable."""
    if item.place is None or not _CONSTANT.search(item.said):
        return ()
    for unit in source.cuda:
        for node in cuda_code(unit).of("assignment_expression", "update_expression"):
            if line_of(unit, node) != item.place.line:
                continue
            target = node.child_by_field_name("left") or node.child_by_field_name("argument")
            name = _base(target)
            edit = _without_const(unit, node, name) if name else None
            if edit is not None:
                return fix(f"let {name} be written to", [edit])
    return ()


def _base(target: Node | None) -> str:
    """Return the name of what is written to, or through."""
    while target is not None and target.type != "identifier":
        inner = target.child_by_field_name("argument")
        target = inner if inner is not None else next(iter(target.named_children), None)
    return text(target)


def _without_const(unit: Unit, node: Node, name: str) -> Edit | None:
    function = cuda_code(unit).function(node)
    kinds = ("parameter_declaration", "declaration")
    for made in descendants(function.node, *kinds) if function is not None else ():
        declarator = made.child_by_field_name("declarator")
        named = [text(one) for one in descendants(declarator, "identifier")] if declarator else []
        if named[:1] != [name]:
            continue
        for child in made.children:
            if child.type == "type_qualifier" and text(child) == "const":
                end = child.end_byte
                while unit.data[end : end + 1] == b" ":
                    end += 1
                return unit.edit(child.start_byte, end, "")
    return None
