"""Replaces division by a shared divisor: one reciprocal, and a product for each element."""

from __future__ import annotations

import math
from dataclasses import replace

from grader.repair.compose.graph import Graph, Node, Ref
from grader.repair.compose.lowered import Lowered
from grader.repair.compose.pointwise import is_pointwise

SHARED = 32
"""Elements for each divisor, from which on it is worth it."""


def multiply_by_reciprocals(graph: Graph, to: Lowered) -> Graph:
    """Return the graph without such divisions; `to` has the graph's names and no nodes yet."""
    for node in graph.nodes:
        to.nodes.append(_product(node, to))
    return Graph(tuple(to.nodes))


def _product(node: Node, to: Lowered) -> Node:
    """Add the reciprocal of a divisor that many elements share and return the product with it; other nodes as they are."""
    if node.op != "truediv" or not is_pointwise(node) or len(node.args) != 2:
        return node
    divisor = to.node_of(node.args[1])
    if divisor is None or divisor.shape is None:
        return _product_with_number(node, to)
    if divisor.dtype != "float32":
        return node
    if math.prod(divisor.shape) * SHARED > math.prod(node.shape or ()):
        return node
    factor = to.tensor(node, 1, "other").op("reciprocal")
    return replace(node, op="mul", args=(node.args[0], factor.ref))


def _product_with_number(node: Node, to: Lowered) -> Node:
    """Return the product with one over a number that the host knows, which torch computes as well."""
    divisor = node.args[1]
    if isinstance(divisor, Ref):
        factor = to.add("truediv", 1.0, divisor, shape=None).ref
        return replace(node, op="mul", args=(node.args[0], factor))
    return replace(node, op="mul", args=(node.args[0], 1.0 / divisor)) if divisor else node
