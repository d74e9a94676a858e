"""Launches of kernels, and what a text exports to Python itself."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from tree_sitter import Node

from grader.source.functions import Function
from grader.source.nodes import around, read_name, text


@dataclass(frozen=True, eq=False)
class Launch:
    """One `kernel<<<...>>>(...)`."""

    kernel: str
    """Name of the kernel without namespace and template arguments."""
    template_arguments: tuple[Node, ...]
    grid: Node | None
    block: Node | None
    shared: Node | None
    stream: Node | None
    arguments: tuple[Node, ...]
    host_function: Function | None
    """The function that it stands in."""
    node: Node
    """The call expression."""


@dataclass(frozen=True, eq=False)
class PythonBinding:
    """One `m.def("name", &function)`."""

    name: str
    target: str
    node: Node


def read_launches(
    syntaxes: Iterable[Node], function_of: Callable[[Node], Function | None]
) -> Iterator[Launch]:
    """Yield the launches in a text, in order."""
    for syntax in syntaxes:
        call = syntax.parent
        if call is None:
            continue
        name, template = read_name(call.child_by_field_name("function") or call.named_child(0))
        configuration = [*_expressions(syntax), None, None, None, None][:4]
        arguments = call.child_by_field_name("arguments")
        yield Launch(
            kernel=name.rpartition("::")[2],
            template_arguments=template,
            grid=configuration[0],
            block=configuration[1],
            shared=configuration[2],
            stream=configuration[3],
            arguments=tuple(_expressions(arguments)) if arguments else (),
            host_function=function_of(call),
            node=call,
        )


def read_python_bindings(calls: Iterable[Node]) -> Iterator[PythonBinding]:
    """Yield what a text exports to Python itself with `m.def`."""
    for call in calls:
        callee, arguments = (call.child_by_field_name(name) for name in ("function", "arguments"))
        if callee is None or arguments is None or callee.type != "field_expression":
            continue
        if any(text(outer).startswith("TORCH_LIBRARY") for outer in [*around(call)][:-1]):
            continue  # an operator's schema: torch.ops has it, and the module exports nothing
        given = list(_expressions(arguments))
        if text(callee.child_by_field_name("field")) == "def" and len(given) >= 2:
            name, target = text(given[0]).strip('"'), text(given[1]).lstrip("&")
            yield PythonBinding(name, target.rsplit("::", 1)[-1], call)


def _expressions(node: Node) -> Iterator[Node]:
    yield from (child for child in node.named_children if child.type != "comment")
