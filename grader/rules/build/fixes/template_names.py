"""A parameter of a function that bears the name of its template's type."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from grader.source.code_edits import fix
from grader.source.cuda_code import cuda_code, descendants, text, units

if TYPE_CHECKING:
    from tree_sitter import Node

    from grader.records import Evidence, Fix
    from grader.source import Source, Unit

_REDECLARED = re.compile(
    r"template parameter \"(\w+)\" may not be redeclared"
    r"|declaration of [\u2018'](?:[^\u2019']*\b)?(\w+)[\u2019'] shadows template parameter"
)


def renamed(source: Source, item: Evidence) -> tuple[Fix, ...]:
    """Give the parameter another name, wherever it is not the type that is meant."""
    for unit, template, name in _templates(source, item):
        values = [
            node
            for node in descendants(template, "identifier")
            if text(node) == name and not _cast(node)
        ]
        new = f"{name}_size"
        if values and new not in cuda_code(unit).names:
            edits = [unit.edit(node.start_byte, node.end_byte, new) for node in values]
            return fix(f"call the parameter {new}: {name} is the template's type", edits)
    return ()


def lines_behind(source: Source, item: Evidence) -> range:
    """Return the lines of the function that such a parameter leaves unreadable; none for other messages."""
    for unit, template, _ in _templates(source, item):
        place = unit.place(template)
        return range(place.line, place.end_line + 1)
    return range(0)


def _templates(source: Source, item: Evidence) -> Iterator[tuple[Unit, Node, str]]:
    """Yield the template around a message that says so, and the name that is there twice."""
    found = _REDECLARED.search(item.said)
    name = next((one for one in found.groups() if one), "") if found else ""
    if not name or item.place is None:
        return
    for unit in units(source):
        for template in cuda_code(unit).of("template_declaration"):
            place = unit.place(template)
            if place.line <= item.place.line <= place.end_line and _is_type(template, name):
                yield unit, template, name


def _is_type(template: Node, name: str) -> bool:
    given = template.child_by_field_name("parameters")
    return given is not None and any(
        text(one) == name for one in descendants(given, "type_identifier")
    )


def _cast(node: Node) -> bool:
    """Whether a name stands in `(T)(x)`, which is read as a call."""
    around = node.parent
    return (
        around is not None
        and around.type == "parenthesized_expression"
        and around.parent is not None
        and around.parent.type == "call_expression"
    )
