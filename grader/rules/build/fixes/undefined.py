"""The name that a compiler does not know, and the texts that use it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from grader.source.cuda_code import cuda_code, text, units

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from grader.records import Evidence
    from grader.source import Source, Unit

_UNKNOWN = re.compile(
    r"identifier \"(\w+)\" is undefined"
    r"|use of undeclared identifier '(\w+)'"
    r"|unknown type name '(\w+)'"
    r"|[\u2018'](\w+)[\u2019'] (?:was not declared|does not name a type|has not been declared)"
)


def unknown(item: Evidence) -> str:
    """Return the name that a message says does not exist; empty where it says something else."""
    found = _UNKNOWN.search(item.said)
    return next((name for name in found.groups() if name), "") if found else ""


def uses(source: Source, name: str) -> Iterator[tuple[Unit, Node]]:
    """Yield where a name stands alone, without a namespace and not as a member, in every text."""
    for unit in units(source):
        for node in cuda_code(unit).names.get(name, ()):
            inside = node.parent is not None and node.parent.type == "qualified_identifier"
            if node.type in {"identifier", "type_identifier"} and not inside:
                yield unit, node


def line_of(unit: Unit, node: Node) -> int:
    """Return the line of the submission that a node begins on."""
    return unit.place(node).line


def at_file_scope(node: Node) -> Node:
    """Return the outermost thing around a node: what stands at file scope, its template head included."""
    here = node
    while here.parent is not None and here.parent.type != "translation_unit":
        here = here.parent
    return here


def first_code(unit: Unit) -> Node | None:
    """Return the first thing of a text that is no include, macro or comment."""
    for node in unit.tree.named_children:
        if not node.type.startswith("preproc") and node.type not in {
            "comment",
            "using_declaration",
        }:
            return node
    return None


def written(node: Node | None) -> str:
    """Return a node's text without white space around it."""
    return text(node).strip()
