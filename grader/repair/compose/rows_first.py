"""A reduction over several dims begins with its rows: one kernel reads them, with the formulas that lead to them."""

from __future__ import annotations

from dataclasses import replace

from grader.repair.compose.graph import Graph, Node
from grader.repair.compose.groups import STAGED
from grader.repair.compose.lowered import Lowered, Value
from grader.repair.compose.pointwise import is_pointwise

SHORT = 32
"""Values of a row, a warp's, below which a kernel for each row leaves most threads idle."""


def reduce_rows_first(graph: Graph, to: Lowered) -> Graph:
    """Return the graph with such reductions in two steps, where a formula or half precision goes in.

    `to` has the graph's names and no nodes yet.
    """
    for node in graph.nodes:
        rows = _rows(node, to)
        to.nodes.append(replace(node, args=_rest(node, rows), kwargs={}) if rows else node)
    return Graph(tuple(to.nodes))


def _rows(node: Node, to: Lowered) -> Value | None:
    """Add the reduction of the last dim, kept as one of size 1; None where the node doesn't take several dims with it."""
    source = to.made(node.argument(0, "input"))
    if node.op not in STAGED or set(node.kwargs) - {"dim", "keepdim"}:
        return None
    if source is None or not source.shape or source.shape[-1] < SHORT:
        return None
    rank = len(source.shape)
    dims = _dims(node, rank)
    if len(dims) < 2 or rank - 1 not in dims or not (source.half or is_pointwise(source)):
        return None
    return to.tensor(node, 0, "input").over(node.op, -1, keep=True)


def _dims(node: Node, rank: int) -> list[int]:
    given = node.argument(1, "dim")
    if given is None:
        return list(range(rank))
    return [dim % rank for dim in given] if isinstance(given, list | tuple) else []


def _rest(node: Node, rows: Value) -> tuple[object, ...]:
    """Return the arguments of the second step: the rows' values, and the same dims; the last has one value by now."""
    return rows.ref, node.argument(1, "dim"), bool(node.argument(2, "keepdim", False))
