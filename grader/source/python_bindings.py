"""Functions that a text exports to Python itself."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tree_sitter import Node

from grader.source.nodes import around, given_nodes, text


@dataclass(frozen=True, eq=False)
class PythonBinding:
    """One `m.def("name", &function)`."""

    name: str
    target: str
    node: Node


def read_python_bindings(calls: Iterable[Node]) -> Iterator[PythonBinding]:
    """Yield what a text exports to Python itself with `m.def`."""
    for call in calls:
        callee, arguments = (call.child_by_field_name(name) for name in ("function", "arguments"))
        if callee is None or arguments is None or callee.type != "field_expression":
            continue
        if any(text(outer).startswith("TORCH_LIBRARY") for outer in [*around(call)][:-1]):
            continue  # an operator's schema: torch.ops has it, and the module exports nothing
        given = given_nodes(arguments)
        if text(callee.child_by_field_name("field")) == "def" and len(given) >= 2:
            name, target = text(given[0]).strip('"'), text(given[1]).lstrip("&")
            yield PythonBinding(name, target.rsplit("::", 1)[-1], call)
