"""Grouping of operations into kernels: formulas over the same elements, and reductions along their rows.

A group is convex: no path between members leaves it, so that one call can replace all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from grader.repair.compose.graph import Graph, Node
from grader.repair.compose.pointwise import is_pointwise

Shape = tuple[int, ...]
STAGED = {"sum", "mean", "amax", "amin"}
REDUCED = STAGED | {"sum_exp"}
"""Reductions that a row's kernel knows; the former have kernels of their own as well."""
CHEAP = {"add", "sub", "rsub", "mul", "neg"}
"""Formulas that cost next to nothing for each element."""


def is_row_reduction(node: Node) -> bool:
    """Whether a node reduces the last dim, and keeps it as one of size 1."""
    dim, keep = node.argument(1, "dim"), node.argument(2, "keepdim", False)
    dim = dim[0] if isinstance(dim, list | tuple) and len(dim) == 1 else dim
    last = node.shape is not None and dim in (-1, len(node.shape) - 1)
    return node.op in REDUCED and last and keep is True and not isinstance(dim, bool)


def per_row(shape: Shape | None) -> bool:
    """Whether a value of this shape is one for each row, or one for all; a size has no shape."""
    return not shape or shape[-1] == 1


@dataclass(eq=False)
class Group:
    """Operations that become one kernel."""

    domain: Shape
    """Shape of the elements: all but the last dim count rows."""
    nodes: list[Node] = field(default_factory=list)

    @property
    def reduces(self) -> bool:
        """Whether rows are reduced in it."""
        return any(node.op in REDUCED for node in self.nodes)


Unit = Group | str
"""Unit of one statement of `forward`: a group, or a node by its name."""


@dataclass
class Grouping:
    """The groups of a graph under construction."""

    graph: Graph
    of: dict[str, Unit] = field(default_factory=dict)
    """Each node's group, or its own name where it is of none."""

    def __post_init__(self) -> None:
        for node in self.graph.nodes:
            self._place(node)
        for node in reversed(self.graph.nodes):
            self._absorb(node)
        for group in [one for one in dict.fromkeys(self.of.values()) if isinstance(one, Group)]:
            group.nodes.sort(key=self.graph.nodes.index)
            if self._has_kernels(group):
                self.of |= {node.name: node.name for node in group.nodes}

    def units(self) -> Iterator[Unit]:
        """Yield each group, and each ungrouped node, after its dependencies; otherwise in the graph's order."""
        waiting = list(dict.fromkeys(self.of.values()))
        done: set[Unit] = set()
        while waiting:
            unit = next(one for one in waiting if self._needed_units(one) <= done)
            waiting.remove(unit)
            done.add(unit)
            yield unit

    def results(self, group: Group) -> list[Node]:
        """Return the members whose values are used outside."""

        def leaves(node: Node) -> bool:
            return any(self.of[user.name] is not group for user in self.graph.users(node.name))

        return [node for node in group.nodes if leaves(node)]

    def _place(self, node: Node) -> None:
        domain = self._domain(node)
        self.of[node.name] = node.name
        if domain is None:
            return
        own = Group(domain, [node])
        self.of[node.name] = own
        for name in node.inputs:
            other = self.of[name]
            if isinstance(other, Group) and other is not own and self._fits(other, node, own):
                self._merge(other, own)
                own = other

    def _domain(self, node: Node) -> Shape | None:
        """Return the shape of the elements that a node works on; None where it is of no group."""
        if is_pointwise(node):
            return node.shape
        if not is_row_reduction(node) or not node.inputs:
            return None
        source = self.graph.node(node.inputs[0])
        return None if per_row(source.shape) or source.dtype != "float32" else source.shape

    def _fits(self, group: Group, node: Node, current: Group) -> bool:
        """Whether a node, with what it has joined already, can join a group."""
        same = group.domain == current.domain
        row = node.shape == (*group.domain[:-1], 1) and group.reduces
        return (
            (same or row) and not self._passes(group, current) and not self._passes(current, group)
        )

    def _passes(self, first: Unit, last: Unit) -> bool:
        """Whether a path leads from one to the other through a third."""
        waiting = [unit for unit in self._needed_units(last) if unit is not first]
        seen: set[Unit] = set()
        while waiting:
            unit = waiting.pop()
            if unit is first:
                return True
            if unit not in seen:
                seen.add(unit)
                waiting += self._needed_units(unit)
        return False

    def _has_kernels(self, group: Group) -> bool:
        """Whether it only reduces float32, for which there are kernels of their own."""
        sources = [self.graph.node(name) for node in group.nodes for name in node.inputs]
        return all(node.op in STAGED for node in group.nodes) and not any(s.half for s in sources)

    def _needed_units(self, unit: Unit) -> set[Unit]:
        """Return the units whose values a unit takes."""
        nodes = unit.nodes if isinstance(unit, Group) else [self.graph.node(unit)]
        return {self.of[name] for node in nodes for name in node.inputs} - {unit}

    def _merge(self, into: Group, other: Group) -> None:
        into.nodes += other.nodes
        self.of |= {node.name: into for node in other.nodes}

    def _absorb(self, node: Node) -> None:
        """Absorb a formula of fewer elements, such as a weight's, into its only user, if that is cheap or once for each row."""
        own = self.of[node.name]
        users = {self.of[user.name] for user in self.graph.users(node.name)}
        if (
            not isinstance(own, Group)
            or own.nodes != [node]
            or not is_pointwise(node)
            or len(users) != 1
        ):
            return
        target = users.pop()
        if isinstance(target, Group) and target is not own and (target.reduces or node.op in CHEAP):
            self._merge(target, own)
