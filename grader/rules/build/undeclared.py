"""A fix: a sum that a kernel adds to and never declares."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from grader.source.code_edits import fix
from grader.source.cuda_code import descendants, text
from grader.source.statements import enclosing_loops, insert_before

if TYPE_CHECKING:
    from grader.records import Evidence, Fix
    from grader.source import Source

UNKNOWN = re.compile(
    r"identifier \"(\w+)\" is undefined|undeclared identifier '(\w+)'|\u2018(\w+)\u2019 was not declared"
)


def declared(source: Source, item: Evidence) -> tuple[Fix, ...]:
    """Declare the sum before the outermost loop that adds to it, and let it begin at zero."""
    found = UNKNOWN.search(item.said)
    name = next((group for group in found.groups() if group), "") if found else ""
    for unit in source.cuda if name else ():
        for function in (*unit.kernels, *unit.device_functions):
            for node in descendants(function.node, "assignment_expression"):
                adds = text(node.child_by_field_name("operator")) == "+="
                loops = list(enclosing_loops(node)) if adds else []
                if loops and text(node.child_by_field_name("left")) == name:
                    new = f"float {name} = 0.0f;"
                    return fix(f"declare `{name}`", [insert_before(unit, loops[-1], new)])
    return ()
