"""The sum of exponentials relative to the largest value, in one way through a row together with that value.

The sum so far is kept relative to the largest value so far (Milakov and Gimelshein, 2018).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from grader.repair.compose.graph import Graph, Node, Ref
from grader.repair.compose.groups import is_row_reduction


def sum_exponentials_online(graph: Graph) -> Graph:
    """Return the graph with each `sum(exp(v - amax(v)))` of rows as one reduction of `v`."""
    return Graph(tuple(_rewrite_node(node, graph) for node in graph.nodes))


def _rewrite_node(node: Node, graph: Graph) -> Node:
    if node.op == "exp" and _below_top(node, graph) is not None:
        return replace(node, op="exp_below_top")
    if node.op != "sum" or not is_row_reduction(node):
        return node
    source = _below_top(_operand(node, "exp", graph), graph)
    return node if source is None else replace(node, op="sum_exp", args=(source, *node.args[1:]))


def _below_top(exponential: Node | None, graph: Graph) -> Any:
    """Return the `v` of `exp(v - amax(v))`, of a row's largest value; None of other exponentials."""
    away = _operand(exponential, "sub", graph)
    top = _operand(away, "amax", graph, index=1)
    if away is None or top is None or top.args[0] != away.args[0] or not is_row_reduction(top):
        return None
    return away.args[0]


def _operand(node: Node | None, op: str, graph: Graph, index: int = 0) -> Node | None:
    """Return what goes into a node if an operation made it, with nothing given by name."""
    given = node.args[index] if node is not None and len(node.args) > index else None
    made = graph.node(given.name) if isinstance(given, Ref) else None
    return made if made is not None and made.op == op and not made.kwargs else None
