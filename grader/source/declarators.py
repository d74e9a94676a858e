"""C++ declarators: parameters of functions, and name, extents and type of a declarator."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from grader.source.nodes import text

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


POINTERS = {"pointer_declarator", "array_declarator", "abstract_pointer_declarator"}
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
        """Default of a template parameter; empty for none."""
        field = "default_type" if self.is_type else "default_value"
        return text(self.node.child_by_field_name(field))


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
    name_node = declared_name(declarator)
    end = name_node.start_byte if name_node else node.end_byte
    before = (node.text or b"")[: end - node.start_byte].decode("utf-8", "replace")
    words = before.replace("*", " * ").replace("&", " & ").split()
    kinds = {layer.type for layer in layers(declarator)}
    return Parameter(
        type=one_line(before),
        name=text(name_node),
        is_pointer=not kinds.isdisjoint(POINTERS),
        is_const="const" in (words[: words.index("*")] if "*" in words else words),
        is_reference=any("reference" in kind for kind in kinds),
        node=node,
    )


def layers(node: Node | None) -> Iterator[Node]:
    """Yield a declarator and those in it, from the outside in to the name: `*a[4]`, `a[4]`, `a`."""
    while node is not None:
        yield node
        inner = node.child_by_field_name("declarator")
        if inner is None and node.type in _DECLARATORS:
            inside = [c for c in node.named_children if c.type in _DECLARATORS | _NAMES]
            inner = inside[-1] if inside else None
        node = inner


def declared_name(node: Node | None) -> Node | None:
    """Return the name in a declarator."""
    return next((layer for layer in layers(node) if layer.type in _NAMES), None)


def extents(node: Node) -> list[Node | None]:
    """Return the extents of an array's declarator, outermost first; None for `[]`."""
    arrays = [layer for layer in layers(node) if layer.type == "array_declarator"]
    return [layer.child_by_field_name("size") for layer in reversed(arrays)]


def clean_type(written: str) -> str:
    """Return a type's text without qualifiers, references and pointers."""
    return one_line(_QUALIFIERS.sub(" ", written))


def one_line(text: str) -> str:
    """Return a text with single spaces only."""
    return " ".join(text.split())
