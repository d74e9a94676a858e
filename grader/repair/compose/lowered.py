"""A graph in the making, in which an operation is written out as simpler ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from grader.repair.compose.graph import Graph, Node, Ref, UncoveredError


@dataclass
class Lowered:
    """The nodes so far, and how to add more that compute what one stood for."""

    nodes: list[Node] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=count)

    def add(self, op: str, *args: Any, shape: tuple[int, ...] | None, **more: Any) -> Ref:
        """Add a node and return its value."""
        name = f"{op}_s{next(self.numbers)}"
        self.nodes.append(Node(name, op, args, more, shape=shape, dtype="float32"))
        return Ref(name)

    def parameter(self, path: str, *, shape: tuple[int, ...]) -> Ref:
        """Add a tensor of the model's own."""
        name = f"{path.rsplit('.', maxsplit=1)[-1]}_s{next(self.numbers)}"
        self.nodes.append(Node(name, "get_attr", path=path, shape=shape, dtype="float32"))
        return Ref(name)

    def made(self, value: Any) -> Node | None:
        """Return the node that a value comes of; None for a number."""
        named = value.name if isinstance(value, Ref) else None
        return next((node for node in self.nodes if node.name == named), None)

    def last(self, op: str, *args: Any, node: Node, **more: Any) -> None:
        """Add the node that gives the original's value, under its name."""
        self.nodes.append(
            replace(node, op=op, args=args, kwargs=more, path="", module="", attributes={})
        )


Rule = Callable[[Node, Graph, Lowered], None]
"""Adds the nodes that a node stands for."""


def shape_of(graph: Graph, to: Lowered, value: Any) -> tuple[int, ...]:
    """Return the shape of a value.

    Raises UncoveredError where the trace could not tell it.
    """
    nodes = (*to.nodes, *graph.nodes)
    found = next((n.shape for n in nodes if isinstance(value, Ref) and n.name == value.name), None)
    if found is None:
        raise UncoveredError("a shape isn't known")
    return found
