"""Matrix products in all forms: linear layers, diagonal and triangular ones, einsum."""

from __future__ import annotations

import math
from dataclasses import replace

from grader.repair.compose.einsum import einsum
from grader.repair.compose.graph import Graph, Node, Ref, UncoveredError
from grader.repair.compose.lowered import Lowered, Rule, Value
from grader.repair.compose.pointwise import is_pointwise

MASKS = {"ones", "full", "ones_like", "full_like", "eye"}


def _linear(node: Node, to: Lowered) -> Value:
    x = to.tensor(node, 0, "input")
    if node.path:
        w = to.parameter(f"{node.path}.weight", (int(node.attributes["out_features"]), x.shape[-1]))
    else:
        w = to.tensor(node, 1, "weight")
    bias = None if node.path else to.argument_of(node, 2, "bias")
    turned = to.add("t", w, shape=(x.shape[-1], w.shape[0]))
    product = to.add("matmul", x, turned, shape=(*x.shape[:-1], w.shape[0]))
    if node.path and "bias" in node.tensors:
        bias = to.parameter(f"{node.path}.bias", w.shape[:1])
    return product if bias is None else product + bias


def _dot(node: Node, to: Lowered) -> Value:
    return (to.tensor(node, 0, "input") * to.argument_of(node, 1, "other", node.kwargs.get("tensor"))).over("sum")  # fmt: skip


def _matmul(node: Node, to: Lowered) -> Value | None:
    """Take a product with a diagonal matrix as a scaling of rows, and one of two vectors as a sum."""
    a = to.tensor(node, 0, "input")
    if node.shape == () and len(a.shape) == 1:
        return _dot(node, to)
    made = next((n for n in to.graph.nodes if n.name == a.ref.name), None)
    diagonal = to.tensor(made, 0, "input") if made is not None and made.op == "diag" else None
    if diagonal is None or len(diagonal.shape) != 1:
        return None
    return diagonal.add_dim(1) * to.argument_of(node, 1, "other")


def _diag(node: Node, to: Lowered) -> Value | None:
    """Leave a diagonal matrix that only products use as its diagonal."""
    users = to.graph.users(node.name)
    if all(user.op == "matmul" and user.args[0] == Ref(node.name) for user in users):
        return to.tensor(node, 0, "input").op("identity")
    return None


def _triangle(node: Node, to: Lowered) -> Value | None:
    """Lower the triangle of a product to a product without the rest."""
    product = next((n for n in to.nodes if n.name == getattr(node.args[0], "name", "")), None)
    if product is not None and product.op in MASKS:
        return None
    alone = product is not None and len(to.graph.users(product.name)) == 1
    if product is None or product.op != "matmul" or not alone or node.argument(1, "diagonal", 0):
        raise UncoveredError(f"{node.op} of something else than a product")
    to.nodes.remove(product)
    side = -1 if node.op == "tril" else 1
    return to.add("matmul", *product.args, shape=node.shape, triangle=side)


def _lower_added_product(node: Node, to: Lowered) -> Value:
    """Add a product to a tensor: addmm, baddbmm."""
    if node.kwargs.get("beta", 1) != 1 or node.kwargs.get("alpha", 1) != 1:
        raise UncoveredError(f"{node.op} with factors")
    bias, a, b = (to.argument_of(node, k, name) for k, name in enumerate(("input", "mat1", "mat2")))
    return to.add("matmul", a, b, shape=node.shape) + bias


def _outer(node: Node, to: Lowered) -> Value:
    return to.tensor(node, 0, "input").add_dim(1) * to.argument_of(node, 1, "vec2")


PRODUCTS: dict[str, Rule] = {
    "linear": _linear,
    "addmm": _lower_added_product,
    "dot": _dot,
    "matmul": _matmul,
    "outer": _outer,
    "diag": _diag,
    "triu": _triangle,
    "tril": _triangle,
    "einsum": einsum,
}


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
