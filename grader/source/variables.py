"""Variables that a CUDA or C++ text declares, and what is known at a place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from grader.source.cuda_code import cuda_code, descendants, text
from grader.source.units import Unit

_TORCH = re.compile(r"(?:torch|at)::|\w+\.contiguous\(\)")


@dataclass(frozen=True)
class Variable:
    """One declared variable."""

    name: str
    type: str
    """As it is written before the name: `auto` for one that goes by its value."""
    plain: bool
    """Whether it is neither a pointer nor an array."""
    value: Node | None
    node: Node
    """The whole declaration."""


def variables(under: Node | None) -> Iterator[Variable]:
    """Yield the variables that a part of a text declares, in its order."""
    for node in descendants(under, "declaration") if under is not None else ():
        kind = text(node.child_by_field_name("type"))
        for child in node.named_children:
            made = child.type == "init_declarator"
            inner = child.child_by_field_name("declarator") if made else child
            named = next(descendants(inner, "identifier"), None) if inner is not None else None
            if inner is not None and named is not None and (made or inner.type in _DECLARES):
                value = child.child_by_field_name("value")
                yield Variable(text(named), kind, inner.type == "identifier", value, node)


_DECLARES = {"identifier", "pointer_declarator", "array_declarator", "reference_declarator"}


def known_at(unit: Unit, node: Node) -> dict[str, str]:
    """Return what the function around a node knows there: parameters and variables with their types, torch's tensors as such."""
    function = cuda_code(unit).function(node)
    if function is None:
        return {}
    found = {one.name: one.type for one in function.parameters}
    for one in variables(function.body):
        if one.node.end_byte <= node.start_byte:
            tensor = one.type == "auto" and _TORCH.match(text(one.value))
            found[one.name] = "Tensor" if tensor else one.type
    return found
