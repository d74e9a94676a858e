"""Functions, kernels, shared arrays and launches of a CUDA text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING
from typing import Literal as OneOf

from grader.source.cuda_tree import ancestor, descend, node_text

if TYPE_CHECKING:
    from tree_sitter import Node

Runs = OneOf["kernel", "device", "host"]

_DECLARATORS = {
    "pointer_declarator",
    "reference_declarator",
    "array_declarator",
    "init_declarator",
    "function_declarator",
    "parenthesized_declarator",
    "attributed_declarator",
    "optional_parameter_declaration",
}
_NAMES = {
    "identifier",
    "field_identifier",
    "qualified_identifier",
    "type_identifier",
    "operator_name",
}


@dataclass(frozen=True, eq=False)
class Parameter:
    """One parameter of a function."""

    type: str
    """Everything before the name, in one line: `const float* __restrict__`."""
    name: str
    is_pointer: bool
    is_const: bool
    """Whether what it points to, or the value itself, is const."""
    is_restrict: bool
    is_reference: bool
    node: Node


@dataclass(frozen=True, eq=False)
class SharedArray:
    """A `__shared__` variable."""

    name: str
    element_type: str
    dims: tuple[Node, ...]
    """Expression of each extent; empty for a scalar and for a dynamic array."""
    dynamic: bool
    """`extern __shared__`: its size comes with the launch."""
    node: Node


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
    def shared(self) -> tuple[SharedArray, ...]:
        """Shared arrays declared in it."""
        if self.body is None:
            return ()
        return tuple(
            array for node in descend(self.body, "declaration") for array in shared_arrays(node)
        )

    @cached_property
    def launch_bounds(self) -> Node | None:
        """The `__launch_bounds__(...)` node."""
        return next(descend(self.node, "launch_bounds"), None)

    @cached_property
    def text(self) -> str:
        """Its whole text."""
        return node_text(self.node)


class Kernel(Function):
    """A `__global__` function."""


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


def read_functions(root: Node) -> Iterator[Function]:
    """Yield functions with a body and prototypes at namespace scope, in order."""
    for node in descend(root, "function_definition", "declaration"):
        if node.type == "declaration" and ancestor(node, "function_definition") is not None:
            continue
        declarator = _function_declarator(node.child_by_field_name("declarator"))
        if declarator is None:
            continue
        function = _read_function(node, declarator)
        if function.name and function.name != "PYBIND11_MODULE":
            yield function


def read_launches(root: Node, functions: tuple[Function, ...]) -> Iterator[Launch]:
    """Yield the launches in a text, in order."""
    for syntax in descend(root, "kernel_call_syntax"):
        call = syntax.parent
        if call is None:
            continue
        callee = call.child_by_field_name("function") or call.named_child(0)
        configuration = [*_expressions(syntax), None, None, None, None][:4]
        arguments = call.child_by_field_name("arguments")
        yield Launch(
            kernel=callee_name(callee),
            template_arguments=_template_arguments(callee),
            grid=configuration[0],
            block=configuration[1],
            shared=configuration[2],
            stream=configuration[3],
            arguments=tuple(_expressions(arguments)) if arguments else (),
            host_function=_enclosing(call, functions),
            node=call,
        )


def read_python_bindings(root: Node) -> Iterator[PythonBinding]:
    """Yield what a text exports to Python itself with `m.def`."""
    for call in descend(root, "call_expression"):
        callee, arguments = (call.child_by_field_name(name) for name in ("function", "arguments"))
        if callee is None or arguments is None or callee.type != "field_expression":
            continue
        given = list(_expressions(arguments))
        if node_text(callee.child_by_field_name("field")) == "def" and len(given) >= 2:
            name, target = node_text(given[0]).strip('"'), node_text(given[1]).lstrip("&")
            yield PythonBinding(name, target.rsplit("::", 1)[-1], call)


def shared_arrays(declaration: Node) -> Iterator[SharedArray]:
    """Yield the shared variables of a declaration; none if it declares other things."""
    words = {node_text(child) for child in declaration.children if child.type in _SPECIFIERS}
    if "__shared__" not in words:
        return
    element = node_text(declaration.child_by_field_name("type"))
    for declarator in declaration.children_by_field_name("declarator"):
        name, dims = _array(declarator)
        dynamic = "extern" in words
        yield SharedArray(name, element, () if dynamic else dims, dynamic, declaration)


def callee_name(node: Node | None) -> str:
    """Return the bare name of what is called: `f` for `ns::f<float>`."""
    while node is not None:
        if node.type in {"template_function", "qualified_identifier", "template_method"}:
            node = node.child_by_field_name("name")
        elif node.type in {"field_expression", "dependent_name"}:
            node = node.child_by_field_name("field") or node.named_child(0)
        else:
            return node_text(node)
    return ""


_SPECIFIERS = {"type_qualifier", "storage_class_specifier"}


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
        name=callee_name(declarator.child_by_field_name("declarator")),
        runs=runs,
        qualifiers=qualifiers,
        return_type=_one_line(node_text(node.child_by_field_name("type"))),
        parameters=_parameters(declarator.child_by_field_name("parameters")),
        template_parameters=_parameters(template.child_by_field_name("parameters"))
        if inside and template is not None
        else (),
        node=node,
        body=node.child_by_field_name("body"),
    )


def _qualifiers(node: Node, declarator: Node) -> tuple[str, ...]:
    """Return the words before the name that are no type."""
    kind = node.child_by_field_name("type")
    words: list[str] = []
    for child in node.children:
        if child.start_byte >= declarator.start_byte:
            break
        if child != kind and child.type not in {"launch_bounds", "ERROR"}:
            words += node_text(child).split()
    return tuple(words)


def _function_declarator(node: Node | None) -> Node | None:
    """Return the function declarator under pointers and references, if there is one."""
    while node is not None and node.type != "function_declarator":
        inner = node.child_by_field_name("declarator")
        if inner is None and node.type == "reference_declarator":
            inner = node.named_child(0) if node.named_child_count else None
        node = inner
    return node


def _parameters(node: Node | None) -> tuple[Parameter, ...]:
    if node is None:
        return ()
    return tuple(_parameter(child) for child in node.named_children if child.type != "comment")


def _parameter(node: Node) -> Parameter:
    if node.type.endswith("type_parameter_declaration"):
        name = next((node_text(c) for c in node.named_children if c.type == "type_identifier"), "")
        return Parameter("typename", name, False, False, False, False, node)
    declarator = node.child_by_field_name("declarator")
    name_node = _declared_name(declarator)
    end = name_node.start_byte if name_node else node.end_byte
    before = (node.text or b"")[: end - node.start_byte].decode("utf-8", "replace")
    words = before.replace("*", " * ").replace("&", " & ").split()
    kinds = _declarator_kinds(declarator)
    return Parameter(
        type=_one_line(before),
        name=node_text(name_node),
        is_pointer=bool(kinds & {"pointer_declarator", "array_declarator"})
        or "abstract_pointer_declarator" in kinds,
        is_const="const" in (words[: words.index("*")] if "*" in words else words),
        is_restrict=any(word in before for word in ("__restrict__", "__restrict ", "restrict")),
        is_reference=any("reference" in kind for kind in kinds),
        node=node,
    )


def _declarator_kinds(node: Node | None) -> set[str]:
    kinds: set[str] = set()
    while node is not None:
        kinds.add(node.type)
        node = _inner(node)
    return kinds


def _declared_name(node: Node | None) -> Node | None:
    while node is not None and node.type not in _NAMES:
        node = _inner(node)
    return node


def _inner(node: Node) -> Node | None:
    inner = node.child_by_field_name("declarator")
    if inner is not None or node.type not in _DECLARATORS:
        return inner
    candidates = [c for c in node.named_children if c.type in _DECLARATORS | _NAMES]
    return candidates[-1] if candidates else None


def _array(node: Node) -> tuple[str, tuple[Node, ...]]:
    """Return the name and the extents of an array declarator, outermost first."""
    dims: list[Node] = []
    here: Node | None = node
    while here is not None and here.type not in _NAMES:
        if here.type == "array_declarator" and (size := here.child_by_field_name("size")):
            dims.append(size)
        here = _inner(here)
    return node_text(here), tuple(reversed(dims))


def _expressions(node: Node) -> Iterator[Node]:
    yield from (child for child in node.named_children if child.type != "comment")


def _template_arguments(callee: Node | None) -> tuple[Node, ...]:
    while callee is not None and callee.type == "qualified_identifier":
        callee = callee.child_by_field_name("name")
    arguments = callee.child_by_field_name("arguments") if callee is not None else None
    return tuple(_expressions(arguments)) if arguments is not None else ()


def _enclosing(node: Node, functions: tuple[Function, ...]) -> Function | None:
    """Return the smallest function around a node."""
    around = [
        f for f in functions if f.body and f.node.start_byte <= node.start_byte < f.node.end_byte
    ]
    return min(around, key=lambda f: f.node.end_byte - f.node.start_byte, default=None)


def _one_line(text: str) -> str:
    return " ".join(text.split())
