"""Templates in which a parameter bears the name of the template's type, which leaves the function unreadable."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from grader.source.analysis.diagnostics import explain
from grader.source.cuda_code import cuda_code, descendants, text, units

if TYPE_CHECKING:
    from tree_sitter import Node

    from grader.records import Evidence
    from grader.source import Source, Unit


def names_of_types(source: Source, item: Evidence) -> Iterator[tuple[Unit, Node, str]]:
    """Yield the template around a message that says so, and the name that is there twice."""
    meaning = explain(item.said)
    if meaning is None or meaning.kind != "name-of-a-type" or item.place is None:
        return
    name = next(filter(None, meaning.names), "")
    for unit in units(source):
        for template in cuda_code(unit).of("template_declaration"):
            place = unit.place(template)
            if place.line <= item.place.line <= place.end_line and _is_type(template, name):
                yield unit, template, name


def lines_behind(source: Source, item: Evidence) -> range:
    """Return the lines of the function that such a parameter leaves unreadable; none for other messages."""
    for unit, template, _ in names_of_types(source, item):
        place = unit.place(template)
        return range(place.line, place.end_line + 1)
    return range(0)


def _is_type(template: Node, name: str) -> bool:
    given = template.child_by_field_name("parameters")
    return given is not None and any(
        text(one) == name for one in descendants(given, "type_identifier")
    )
