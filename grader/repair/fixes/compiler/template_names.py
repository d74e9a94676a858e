"""A parameter of a function that bears the name of its template's type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.source.analysis.template_names import names_of_types
from grader.source.code_edits import fix
from grader.source.cuda_code import cuda_code, descendants, text

if TYPE_CHECKING:
    from tree_sitter import Node

    from grader.records import Fix
    from grader.repair.fixes.compiler.diagnostic import Diagnostic


def renamed(found: Diagnostic) -> tuple[Fix, ...]:
    """Give the parameter another name, wherever it is not the type that is meant."""
    for unit, template, name in names_of_types(found.source, found.item):
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


def _cast(node: Node) -> bool:
    """Whether a name stands in `(T)(x)`, which is read as a call."""
    around = node.parent
    return (
        around is not None
        and around.type == "parenthesized_expression"
        and around.parent is not None
        and around.parent.type == "call_expression"
    )
