"""Splits a reduction over the last or several dims: one kernel first reduces the rows, with the formulas before them."""

from __future__ import annotations

from dataclasses import replace

from grader.repair.compose.graph import Graph, Node
from grader.repair.compose.groups import STAGED, is_row_reduction
from grader.repair.compose.lowered import Lowered, Shape, Value
from grader.repair.compose.pointwise import is_pointwise

SHORT = 32
"""Values of a row, a warp's, below which a kernel for each row leaves most threads idle."""


def reduce_rows_first(graph: Graph, to: Lowered) -> Graph:
    """Return the graph with such reductions in two steps, where a formula or half precision goes in.

    `to` has the graph's names and no nodes yet.
    """
    for node in graph.nodes:
        rows = _rows(node, to)
        to.nodes.append(_rest(node, rows) if rows else node)
    return Graph(tuple(to.nodes))


def _rows(node: Node, to: Lowered) -> Value | None:
    """Add the reduction of the last dim, kept as one of size 1; None where no kernel of rows would gain by it."""
    if node.op not in STAGED or set(node.kwargs) - {"dim", "keepdim"}:
        return None
    source = to.node_of(node.argument(0, "input"))
    if source is None or not source.shape or source.shape[-1] < SHORT:
        return None
    dims, last = _dims(node, source.shape), len(source.shape) - 1
    is_known = dims == [last] and is_row_reduction(node)
    if last not in dims or is_known or not (source.half or is_pointwise(source)):
        return None
    return to.tensor(node, 0, "input").over(node.op, -1, keep=True)


def _dims(node: Node, shape: Shape) -> list[int]:
    given = node.argument(1, "dim")
    if given is None:
        return list(range(len(shape)))
    return [dim % len(shape) for dim in (given if isinstance(given, list | tuple) else [given])]


def _rest(node: Node, rows: Value) -> Node:
    """Return the second step: over the same dims, of which the last has one value by now; or that dim goes."""
    dim, keep = node.argument(1, "dim"), bool(node.argument(2, "keepdim", False))
    if len(_dims(node, rows.shape)) == 1:
        return replace(node, op="squeeze", args=(rows.ref, -1), kwargs={})
    return replace(node, args=(rows.ref, dim, keep), kwargs={})
