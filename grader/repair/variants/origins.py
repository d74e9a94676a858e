"""Where the variables of a line come from: an access goes wrong by what its index was made of."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from grader.source.cuda_code import descendants, text

if TYPE_CHECKING:
    from grader.source import Function, Unit


def origins(units: tuple[Unit, ...], lines: Collection[int]) -> set[int]:
    """Return the lines of the submission that declare a variable which one of these lines uses.

    Lines of the given ones are left out.
    """
    found: set[int] = set()
    for unit in units:
        for function in unit.functions:
            if function.body is not None and function.runs != "host":
                found |= _of_function(unit, function, lines)
    return found.difference(lines)


def _of_function(unit: Unit, function: Function, lines: Collection[int]) -> set[int]:
    used = {
        text(node)
        for node in descendants(function.node, "identifier")
        if unit.place(node).line in lines
    }
    return {
        unit.place(declared).line
        for declared in (descendants(function.node, "init_declarator") if used else ())
        if text(declared.child_by_field_name("declarator")).lstrip("*& ") in used
    }
