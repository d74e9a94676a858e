"""Norms, written out as formulas and reductions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from grader.repair.compose.graph import Graph, Node, Ref, UncoveredError
from grader.repair.compose.groups import is_row_reduction
from grader.repair.compose.lowered import Lowered, Rule, Shape, Value


def _vector_norm(node: Node, to: Lowered) -> Value:
    x, p = to.tensor(node, 0, "input"), node.argument(1, "p", node.kwargs.get("ord", "fro"))
    dim, keep = node.argument(2, "dim"), bool(node.argument(3, "keepdim", False))
    if p in {2, "fro", None}:
        return (x * x).over("sum", dim, keep=keep).op("sqrt")
    if p == 1:
        return x.op("abs").over("sum", dim, keep=keep)
    raise UncoveredError(f"a norm with p = {p}")


def _normalize(node: Node, to: Lowered) -> Value:
    """Divide by a norm that is no smaller than a least one."""
    x, p = to.tensor(node, 0, "input"), node.argument(1, "p", 2.0)
    dim = node.argument(2, "dim", 1)
    if p not in {1, 2} or not isinstance(dim, int):
        raise UncoveredError(f"a norm with p = {p}")
    total = (x.op("abs") if p == 1 else x * x).over("sum", dim, keep=True)
    length = total if p == 1 else total.op("sqrt")
    return x / length.op("clamp_min", node.argument(3, "eps", 1e-12))


def _rms_norm(node: Node, to: Lowered) -> Value:
    x, sizes = to.tensor(node, 0, "input"), node.argument(1, "normalized_shape")
    first = len(x.shape) - len(sizes)
    weight = None if node.path else to.argument_of(node, 2, "weight")
    if node.path and node.attributes.get("elementwise_affine", True):
        weight = to.parameter(f"{node.path}.weight", x.shape[first:])
    mean = (x * x).over("mean", list(range(first, len(x.shape))), keep=True)
    eps = node.argument(3, "eps")
    scaled = x * (mean + (2.0**-23 if eps is None else eps)).op("rsqrt")
    return scaled if weight is None else scaled * weight


def _layer_norm(node: Node, to: Lowered) -> Value | None:
    """Layer norm along rows, where formulas are computed beside it."""
    x, sizes = to.tensor(node, 0, "input"), node.argument(1, "normalized_shape")
    if not isinstance(sizes, list | tuple) or len(sizes) != 1 or not to.has_formulas_beside(node):
        return None
    weight, bias = _affine(node, to, x.shape[-1:])
    made = _normalise_rows(x, node.argument(4, "eps", 1e-5))
    made = made if weight is None else made * weight
    return made if bias is None else made + bias


def _normalise_rows(x: Value, eps: float | None) -> Value:
    """Return rows with mean 0 and variance 1: the mean first, then the squares of what is left."""
    mean = x.over("mean", -1, keep=True)
    away = x - mean
    variance = (away * away).over("mean", -1, keep=True)
    factor = (variance + (1e-5 if eps is None else eps)).op("rsqrt")
    return (x - mean) * factor


def _affine(node: Node, to: Lowered, shape: Shape) -> list[Value | None]:
    """Return a layer's weight and bias, or what a function is given for them; None if there is none."""
    if not node.path:
        given = (to.argument_of(node, 2 + k, name) for k, name in enumerate(("weight", "bias")))
        return [found if isinstance(found, Value) else None for found in given]
    kept = node.attributes.get("elementwise_affine", True)
    return [
        to.parameter(f"{node.path}.{name}", shape) if kept and name in node.tensors else None
        for name in ("weight", "bias")
    ]


NORMS: dict[str, Rule] = {
    "layer_norm": _layer_norm,
    "norm": _vector_norm,
    "normalize": _normalize,
    "rms_norm": _rms_norm,
    "vector_norm": _vector_norm,
}


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
