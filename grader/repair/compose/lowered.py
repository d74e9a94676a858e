"""A graph under construction, in which an operation is expressed by simpler ones with Python's operators."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import numpy as np

from grader.repair.compose.graph import MOVES, Graph, Node, Ref, UncoveredError
from grader.repair.compose.pointwise import is_pointwise

Shape = tuple[int, ...]
Number = float | None


@dataclass(frozen=True)
class Value:
    """A value of the graph; computations with it are added to the graph."""

    to: Lowered
    ref: Ref
    known: Shape | None
    """Its shape; None for a size, which is a number."""

    @property
    def shape(self) -> Shape:
        """Its shape; raises UncoveredError where the trace could not tell it."""
        if self.known is None:
            raise UncoveredError("a shape isn't known")
        return self.known

    def op(self, name: str, *args: Any) -> Value:
        """Return an elementwise operation on it and others."""
        given = (one.known for one in (self, *args) if isinstance(one, Value))
        shapes = [shape for shape in given if shape is not None]
        shape = np.broadcast_shapes(*shapes) if shapes else None
        return self.to.add(name, self, *args, shape=shape)

    def __add__(self, other: Any) -> Value:
        return self.op("add", other)

    def __sub__(self, other: Any) -> Value:
        return self.op("sub", other)

    def __mul__(self, other: Any) -> Value:
        return self.op("mul", other)

    def __truediv__(self, other: Any) -> Value:
        return self.op("truediv", other)

    def __neg__(self) -> Value:
        return self.op("neg")

    def over(self, name: str, dims: Any = None, *, keep: bool = False) -> Value:
        """Return a reduction, `sum` say, along one dim, several, or all of them."""
        rank = len(self.shape)
        each = dims if isinstance(dims, list | tuple) else range(rank) if dims is None else [dims]
        gone = {dim % rank for dim in each}
        kept = tuple(1 if d in gone else n for d, n in enumerate(self.shape) if keep or d not in gone)  # fmt: skip
        return self.to.add(name, self, dims, keep, shape=kept)

    def size(self, dim: int) -> Value:
        """Return its size along a dim, read at run time."""
        return self.to.add("size", self, dim, shape=None)

    def add_dim(self, dim: int) -> Value:
        """Return it with one more dim."""
        return self.to.add("unsqueeze", self, dim, shape=(*self.shape[:dim], 1, *self.shape[dim:]))

    def permute_dims(self, order: list[int]) -> Value:
        """Return it with its dims in another order."""
        return self.to.add("permute", self, order, shape=tuple(self.shape[k] for k in order))


@dataclass
class Lowered:
    """The nodes so far, of those of `graph`, and how to add more."""

    graph: Graph
    nodes: list[Node] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=count)

    def add(self, op: str, *args: Any, shape: Shape | None, **more: Any) -> Value:
        """Add a node and return its value."""
        ref = Ref(f"{op}_s{next(self.numbers)}")
        given = tuple(map(_plain, args))
        source = self.node_of(given[0]) if op in MOVES else None
        half = source.half if source is not None else ""
        self.nodes.append(Node(ref.name, op, given, more, shape=shape, dtype="float32", half=half))
        return Value(self, ref, shape)

    def parameter(self, path: str, shape: Shape) -> Value:
        """Add a tensor of the model's own."""
        ref = Ref(f"{path.rsplit('.', maxsplit=1)[-1]}_s{next(self.numbers)}")
        self.nodes.append(Node(ref.name, "get_attr", path=path, shape=shape, dtype="float32"))
        return Value(self, ref, shape)

    def node_of(self, value: Any) -> Node | None:
        """Return the node of a value, new or original; None for a number."""
        named = value.name if isinstance(value, Ref) else None
        return next((n for n in (*self.nodes, *self.graph.nodes) if n.name == named), None)

    def argument_of(self, node: Node, index: int, name: str, default: Any = None) -> Value | Number:
        """Return an argument of a node: a value, or a plain number."""
        return self.value(node.argument(index, name, default))

    def value(self, given: Any) -> Value | Number:
        """Return an argument's value, or a plain number."""
        made = self.node_of(given)
        return Value(self, given, made.shape) if made is not None else given

    def tensor(self, node: Node, index: int, name: str) -> Value:
        """Return an argument that has to be a tensor."""
        found = self.argument_of(node, index, name)
        if not isinstance(found, Value) or found.known is None:
            raise UncoveredError("a shape isn't known")
        return found

    def has_formulas_beside(self, node: Node) -> bool:
        """Whether values come from formulas or go into some."""
        beside = (self.node_of(node.argument(0, "input")), *self.graph.users(node.name))
        return any(one is not None and is_pointwise(one) for one in beside)

    def close(self, node: Node) -> None:
        """Give the last added node the original's name."""
        last = self.nodes.pop()
        if last.op in MOVES:
            made = self.node_of(last.args[0])
            self.nodes = [replace(n, half=node.half) if n is made else n for n in self.nodes]
        self.nodes.append(
            replace(node, op=last.op, args=last.args, kwargs=last.kwargs, path="", module="", attributes={})
        )  # fmt: skip


def _plain(value: Any) -> Any:
    """Return an argument as nodes have it."""
    if isinstance(value, list | tuple):
        return type(value)(map(_plain, value))
    return value.ref if isinstance(value, Value) else value


Rule = Callable[[Node, Lowered], Value | None]
"""Adds the nodes that a node stands for and returns the last of them; None where the node stays as it is."""
