"""Whole numbers that C++ fixes when it is compiled: what follows host code evaluates the expression.

Literals, macros, constants of the file and of the function around, `sizeof`, and what is known of template parameters.
"""

from collections.abc import Mapping

from tree_sitter import Node

from grader.source.cpp import Declare, walk
from grader.source.cpp_reading import expression
from grader.source.flow.expressions import Machine
from grader.source.flow.launch import StopWalkError
from grader.source.flow.state import Box, Frame
from grader.source.flow.values import Value
from grader.source.functions import Function
from grader.source.scalar_types import SIZES
from grader.source.units import Unit

OPEN = {"scalar_t", "T"}
"""Names that stand for several types."""


def size_of(type_name: str, types: Mapping[str, str] | None = None) -> int | None:
    """Return the bytes of a type, template parameters replaced by what `types` says."""
    name = " ".join(word for word in type_name.split() if word not in {"const", "volatile"})
    name = (types or {}).get(name, name).removeprefix("::")
    return 8 if name.endswith("*") else None if name in OPEN else SIZES.get(name)


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
    machine = _Compiler(unit, node, known or {}, types or {})
    try:
        return machine.eval(expression(node)).scalar
    except (StopWalkError, RecursionError):
        return None


class _Compiler(Machine):
    """What knows what the compiler does where an expression stands."""

    def __init__(
        self, unit: Unit, node: Node, known: Mapping[str, int], types: Mapping[str, str]
    ) -> None:
        self.types = types
        around = [f for f in unit.functions if _holds(f, node)]
        function = around[-1] if around else None
        super().__init__(unit)
        self.frames.append(Frame(function, {}, dict(types)))
        for declared in walk(function.code) if function is not None else ():
            if isinstance(declared, Declare) and _is_before(declared, node):
                self.define(declared.name, self._constant(declared))
        for name, value in known.items():
            self.frames[-1].names[name] = Box(Value(value, "i"))

    def _constant(self, declared: Declare) -> Value:
        """Return the value of a constant before the expression; nothing is known of one that can't be computed."""
        try:
            return self.eval(declared.init)  # type: ignore[arg-type]
        except StopWalkError:
            return Value()

    def size_of(self, text: str) -> int:
        """Return a type's bytes; what isn't known is no constant."""
        size = size_of(text.strip("() "), self.types)
        if size is None:
            raise StopWalkError(text)
        return size


def _is_before(declared: Declare, node: Node) -> bool:
    """Whether a declaration makes a constant that is known at a node."""
    plain = declared.const and declared.init is not None and not declared.dims
    return plain and not declared.pointer and declared.node.end_byte <= node.start_byte


def _holds(function: Function, node: Node) -> bool:
    return bool(function.node.start_byte <= node.start_byte < function.node.end_byte)
