"""Compile-time integer constants of C++.

Literals, macros, constants of the file and of the function around, `sizeof`, and known template parameters.
"""

from collections.abc import Mapping

from tree_sitter import Node

from grader.source import cpp
from grader.source.cpp_reading import expression
from grader.source.flow.evaluate import Evaluator, Scope, bytes_of
from grader.source.units import Unit


def size_of(type_name: str, types: Mapping[str, str] | None = None) -> int | None:
    """Return the bytes of a type, with template parameters replaced by `types`."""
    return bytes_of(type_name, types or {})


def fold(
    unit: Unit,
    node: Node | None,
    known: Mapping[str, int] | None = None,
    types: Mapping[str, str] | None = None,
) -> int | None:
    """Return the value of an expression, or None where it isn't constant.

    `known` gives values of names (template arguments), `types` the types that template parameters stand for.
    """
    if node is None:
        return None
    function = unit.function_around(node)
    body = function.code if function is not None else cpp.Block(None, ())
    scope = Scope(body, dict(known or {}), dict(types or {}), constant=True)
    value = Evaluator(unit).value(expression(node), scope, int(node.start_byte))
    return value if isinstance(value, int) else None
