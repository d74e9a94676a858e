"""Definitions of names in CUDA code: declarations with a value, and assignments."""

from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from grader.source.declarators import declared_name
from grader.source.nodes import descendants, names_in, text

KINDS = ("init_declarator", "assignment_expression")
INDEX = "subscript_expression"


@dataclass(frozen=True, eq=False)
class Definition:
    """One place where a name gets a value."""

    node: Node
    """The declarator with its value, or the assignment."""

    @property
    def target(self) -> Node:
        """The target."""
        found = self.node.child_by_field_name("declarator") or self.node.child_by_field_name("left")
        return found or self.node

    @property
    def value(self) -> Node:
        """The new value."""
        found = self.node.child_by_field_name("value") or self.node.child_by_field_name("right")
        return found or self.node

    @property
    def name(self) -> str:
        """The assigned variable, without stars, or the array of an assigned cell."""
        if self.declares:
            return text(declared_name(self.target))
        if self.target.type == INDEX:
            return text(self.target.child_by_field_name("argument"))
        return text(self.target).lstrip("*& ")

    @property
    def declares(self) -> bool:
        """Whether it declares the variable."""
        return self.node.type == "init_declarator"

    @property
    def is_variable(self) -> bool:
        """Whether a variable itself gets a value, not a cell or a pointer's target."""
        return self.is_pointer or self.target.type == "identifier"

    @property
    def is_pointer(self) -> bool:
        """Whether it declares a pointer."""
        return self.target.type == "pointer_declarator"

    @property
    def replaces(self) -> bool:
        """Whether it is a plain assignment."""
        return text(self.node.child_by_field_name("operator")) == "="

    @property
    def used(self) -> set[str]:
        """The names in the value."""
        return names_in(self.value)

    @property
    def operators(self) -> set[str]:
        """The operators with two sides in the value."""
        parts = descendants(self.value, "binary_expression")
        return {text(one.child_by_field_name("operator")) for one in parts}


def definitions(under: Node | None) -> Iterator[Definition]:
    """Yield the definitions in a part of a text, in its order."""
    if under is not None:
        yield from map(Definition, descendants(under, *KINDS))
