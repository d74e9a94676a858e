"""A fix: a function or kernel that is used before it is declared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.rules.build.fixes.undefined import at_file_scope, unknown, uses
from grader.source.code_edits import fix, prototype
from grader.source.cuda_code import text
from grader.source.statements import insert_before

if TYPE_CHECKING:
    from grader.records import Evidence, Fix
    from grader.source import Function, Source


def declared_first(source: Source, item: Evidence) -> tuple[Fix, ...]:
    """Declare a function before what uses it, where its definition follows."""
    name = unknown(item)
    for unit in source.cuda if name else ():
        later = next((f for f in unit.functions if f.name == name and f.body is not None), None)
        used = [node for owner, node in uses(source, name) if owner is unit]
        if later is None or not used or used[0].start_byte > later.node.start_byte:
            continue
        declaration = _template_head(later) + prototype(later)
        edit = insert_before(unit, at_file_scope(used[0]), f"{declaration}\n")
        return fix(f"declare {name} before it is used", [edit])
    return ()


def _template_head(function: Function) -> str:
    """Return `template <...>` of a function template, on a line of its own."""
    outer = function.node.parent
    if outer is None or outer.type != "template_declaration":
        return ""
    return f"template {text(outer.child_by_field_name('parameters'))}\n"
