"""A step of a composed `forward`: a kernel's template with its values, and its call."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from grader.repair.compose.graph import Graph, Node, Ref, UncoveredError
from grader.repair.compose.storage import C_TYPES, KINDS, Storage, pack


@dataclass(frozen=True)
class Stage:
    """A kernel family's template with its values; equal ones are written once."""

    family: str
    """Its name in the coverage table."""
    template: str
    values: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class Call:
    """One step of `forward`: `KERNEL` in the text stands for the stage's function."""

    stage: Stage
    text: str


@dataclass
class Writer:
    """Names of values in Python, for writing a stage's call."""

    graph: Graph
    storage: Storage
    names: dict[str, str] = field(default_factory=dict)

    def value(self, value: Any) -> str:
        """Return an argument as Python text."""
        if isinstance(value, Ref):
            return self.names[value.name]
        if isinstance(value, list | tuple):
            return "[" + ", ".join(self.value(item) for item in value) + "]"
        if value is Ellipsis:
            return "..."
        if isinstance(value, slice):
            ends = [self.value(end) if end is not None else "" for end in (value.start, value.stop)]
            return ":".join(ends if value.step is None else [*ends, self.value(value.step)])
        return repr(value)

    def node(self, value: Any) -> Node:
        """Return the node behind an argument."""
        if not isinstance(value, Ref):
            raise UncoveredError("a tensor was expected")
        return self.graph.node(value.name)

    def types(self, node: Node, source: Any) -> tuple[tuple[str, Any], ...]:
        """Return a half-precision template's values: both types, and the pack width."""
        types = tuple(C_TYPES[self.storage.dtype(one)] for one in (self.node(source), node))
        kinds = tuple(KINDS[one] for one in types)
        return (("types", types), ("kinds", kinds), ("pack", pack(types)))

    def rank(self, value: Any) -> int:
        """Return how many dims a value has."""
        shape = self.node(value).shape
        if shape is None:
            raise UncoveredError(f"the shape of {self.node(value).op} isn't known")
        return len(shape)
