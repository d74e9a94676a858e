"""Parameters and shared arrays: what C++ declarators declare."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from grader.source.cuda_code import text

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


_SPECIFIERS = {"type_qualifier", "storage_class_specifier"}
_QUALIFIERS = re.compile(
    r"\b(?:const|volatile|__restrict__|constexpr|static|typename|struct)\b|[*&]"
)


@dataclass(frozen=True, eq=False)
class Parameter:
    """One parameter of a function."""

    type: str
    """Everything before the name, in one line: `const float* __restrict__`."""
    name: str
    is_pointer: bool
    is_const: bool
    """Whether what it points to, or the value itself, is const."""
    is_reference: bool
    node: Node

    @property
    def kind(self) -> str:
        """Its type without qualifiers, references and pointers: `float`."""
        return clean_type(text(self.node.child_by_field_name("type")))

    @property
    def is_type(self) -> bool:
        """Whether it is a template's type."""
        return self.type == "typename"

    @property
    def default(self) -> str:
        """What a template parameter is where nothing is given; empty for none."""
        field = "default_type" if self.is_type else "default_value"
        return text(self.node.child_by_field_name(field))


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


def read_parameters(node: Node | None) -> tuple[Parameter, ...]:
    """Return the parameters in a list of parameters, of a function or of a template."""
    if node is None:
        return ()
    return tuple(_parameter(child) for child in node.named_children if child.type != "comment")


def _parameter(node: Node) -> Parameter:
    if node.type.endswith("type_parameter_declaration"):
        name = next((text(c) for c in node.named_children if c.type == "type_identifier"), "")
        return Parameter("typename", name, False, False, False, node)
    declarator = node.child_by_field_name("declarator")
    name_node = _declared_name(declarator)
    end = name_node.start_byte if name_node else node.end_byte
    before = (node.text or b"")[: end - node.start_byte].decode("utf-8", "replace")
    words = before.replace("*", " * ").replace("&", " & ").split()
    kinds = _declarator_kinds(declarator)
    return Parameter(
        type=one_line(before),
        name=text(name_node),
        is_pointer=bool(kinds & {"pointer_declarator", "array_declarator"})
        or "abstract_pointer_declarator" in kinds,
        is_const="const" in (words[: words.index("*")] if "*" in words else words),
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


def shared_arrays(declaration: Node) -> Iterator[SharedArray]:
    """Yield the shared variables of a declaration; none if it declares other things."""
    words = {text(child) for child in declaration.children if child.type in _SPECIFIERS}
    if "__shared__" not in words:
        return
    element = text(declaration.child_by_field_name("type"))
    for declarator in declaration.children_by_field_name("declarator"):
        name, dims = _array(declarator)
        dynamic = "extern" in words
        yield SharedArray(name, element, () if dynamic else dims, dynamic, declaration)


def _array(node: Node) -> tuple[str, tuple[Node, ...]]:
    """Return the name and the extents of an array declarator, outermost first."""
    dims: list[Node] = []
    here: Node | None = node
    while here is not None and here.type not in _NAMES:
        if here.type == "array_declarator" and (size := here.child_by_field_name("size")):
            dims.append(size)
        here = _inner(here)
    return text(here), tuple(reversed(dims))


def clean_type(written: str) -> str:
    """Return a type's text without qualifiers, references and pointers."""
    return one_line(_QUALIFIERS.sub(" ", written))


def one_line(text: str) -> str:
    """Return a text with single spaces only."""
    return " ".join(text.split())
