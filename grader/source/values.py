"""Values of statically evaluated expressions."""

import ast

from grader.source.text import Text


class Unknown:
    """An unknown value."""


UNKNOWN = Unknown()
Value = Text | tuple["Value", ...] | dict[str, "Value"] | int | float | bool | None | Unknown


def arithmetic(operator: ast.operator, left: Value, right: Value) -> Value:
    """Fold whole numbers; sizes of blocks and tiles are written like that."""
    if type(left) is not int or type(right) is not int or max(abs(left), abs(right)) > 1 << 40:
        return UNKNOWN
    match operator:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
        case ast.FloorDiv() if right:
            return left // right
    return UNKNOWN
