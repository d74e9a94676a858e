"""The macros that a CUDA or C++ text defines."""

from dataclasses import dataclass

from grader.source import cpp
from grader.source.cpp_reading import parse_expression
from grader.source.nodes import text


@dataclass(frozen=True, slots=True, eq=False)
class Macro:
    """A `#define`; `parameters` is None for one without parentheses."""

    name: str
    parameters: tuple[str, ...] | None
    value: str
    node: cpp.Node

    @property
    def expr(self) -> cpp.Expr | None:
        """Its value, if that is an expression."""
        return parse_expression(self.value)


def read_macro(node: cpp.Node) -> Macro:
    """Read a `#define`."""
    given = node.child_by_field_name("parameters")
    names = tuple(map(text, given.named_children)) if given is not None else None
    value = text(node.child_by_field_name("value")).split("//")[0].replace("\\\n", " ").strip()
    return Macro(text(node.child_by_field_name("name")), names, value, node)
