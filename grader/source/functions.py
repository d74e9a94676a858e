"""Functions and kernels of a CUDA or C++ text."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal as OneOf

from tree_sitter import Node

from grader.source.cpp import Declare, Stmt
from grader.source.cpp_reading import statement, variables
from grader.source.declarators import (
    Parameter,
    layers,
    one_line,
    read_parameters,
)
from grader.source.nodes import around, descendants, plain_name, text

Runs = OneOf["kernel", "device", "host"]


@dataclass(frozen=True, eq=False)
class Function:
    """A function with a body, or a prototype without one."""

    name: str
    """Without namespace: `l2_norm_kernel`."""
    runs: Runs
    qualifiers: tuple[str, ...]
    """`__global__`, `__device__`, `__host__`, `__forceinline__`, `static`, `inline`, ..."""
    return_type: str
    parameters: tuple[Parameter, ...]
    template_parameters: tuple[Parameter, ...]
    """For `typename T` the type is `typename`."""
    node: Node
    """The `function_definition` or `declaration`."""
    body: Node | None

    @cached_property
    def code(self) -> Stmt:
        """Its body as a typed tree; empty for a prototype."""
        return statement(self.body)

    @cached_property
    def shared(self) -> tuple[Declare, ...]:
        """Shared arrays declared in it."""
        return tuple(one for one in variables(self.body) if one.shared)

    @cached_property
    def launch_bounds(self) -> Node | None:
        """The `__launch_bounds__(...)` node."""
        return next(descendants(self.node, "launch_bounds"), None)

    @cached_property
    def text(self) -> str:
        """Its whole text."""
        return text(self.node)


class Kernel(Function):
    """A `__global__` function."""


def read_functions(by_kind: Mapping[str, tuple[Node, ...]]) -> Iterator[Function]:
    """Yield functions with a body and prototypes at namespace scope, in order."""
    nodes = (*by_kind.get("function_definition", ()), *by_kind.get("declaration", ()))
    for node in sorted(nodes, key=lambda node: (node.start_byte, -node.end_byte)):
        inside = any(one.type == "function_definition" for one in around(node))
        if node.type == "declaration" and inside:
            continue
        every = layers(node.child_by_field_name("declarator"))
        declarator = next((one for one in every if one.type == "function_declarator"), None)
        if declarator is None:
            continue
        function = _read_function(node, declarator)
        if function.name and function.name != "PYBIND11_MODULE":
            yield function


def _read_function(node: Node, declarator: Node) -> Function:
    qualifiers = _qualifiers(node, declarator)
    runs: Runs = "host"
    if "__global__" in qualifiers:
        runs = "kernel"
    elif "__device__" in qualifiers:
        runs = "device"
    template = node.parent
    inside = template is not None and template.type == "template_declaration"
    make = Kernel if runs == "kernel" else Function
    return make(
        name=plain_name(declarator.child_by_field_name("declarator")),
        runs=runs,
        qualifiers=qualifiers,
        return_type=one_line(text(node.child_by_field_name("type"))),
        parameters=read_parameters(declarator.child_by_field_name("parameters")),
        template_parameters=read_parameters(template.child_by_field_name("parameters"))
        if inside and template is not None
        else (),
        node=node,
        body=node.child_by_field_name("body"),
    )


def _qualifiers(node: Node, declarator: Node) -> tuple[str, ...]:
    """Return the words before the name that aren't part of the type."""
    kind = node.child_by_field_name("type")
    words: list[str] = []
    for child in node.children:
        if child.start_byte >= declarator.start_byte:
            break
        if child != kind and child.type not in {"launch_bounds", "ERROR"}:
            words += text(child).split()
    return tuple(words)
