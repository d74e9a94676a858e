"""Matrix products in all their spellings: linear layers, diagonal and triangular ones, einsum."""

from __future__ import annotations

from grader.repair.compose.einsum import einsum
from grader.repair.compose.graph import Graph, Node, Ref, UncoveredError
from grader.repair.compose.lowered import Lowered, Rule, shape_of


def _linear(node: Node, graph: Graph, to: Lowered) -> None:
    x = node.argument(0, "input")
    shape = shape_of(graph, to, x)
    if node.path:
        weight = Node(
            f"{node.name}_weight",
            "get_attr",
            path=f"{node.path}.weight",
            shape=(int(node.attributes["out_features"]), shape[-1]),
            dtype="float32",
        )
        to.nodes.append(weight)
        w, bias = Ref(weight.name), f"{node.path}.bias" if "bias" in node.tensors else ""
    else:
        w, bias = node.argument(1, "weight"), ""
    given = None if node.path else node.argument(2, "bias")
    out = shape_of(graph, to, w)[0]
    turned = to.add("t", w, shape=(shape[-1], out))
    if not bias and given is None:
        to.last("matmul", x, turned, node=node)
        return
    product = to.add("matmul", x, turned, shape=(*shape[:-1], out))
    if bias:
        name = f"{node.name}_bias"
        to.nodes.append(Node(name, "get_attr", path=bias, shape=(out,), dtype="float32"))
        given = Ref(name)
    to.last("add", product, given, node=node)


def _dot(node: Node, graph: Graph, to: Lowered) -> None:
    a, b = node.argument(0, "input"), node.argument(1, "other", node.kwargs.get("tensor"))
    products = to.add("mul", a, b, shape=shape_of(graph, to, a))
    to.last("sum", products, node=node)


def _matmul(node: Node, graph: Graph, to: Lowered) -> None:
    """Take a product with a diagonal matrix as a scaling of rows, and one of two vectors as a sum."""
    a = node.argument(0, "input")
    if node.shape == () and len(shape_of(graph, to, a)) == 1:
        _dot(node, graph, to)
        return
    made = next((n for n in graph.nodes if isinstance(a, Ref) and n.name == a.name), None)
    if made is None or made.op != "diag" or len(shape_of(graph, to, made.args[0])) != 1:
        to.nodes.append(node)
        return
    column = to.add("unsqueeze", made.args[0], 1, shape=(*shape_of(graph, to, made.args[0]), 1))
    to.last("mul", column, node.argument(1, "other"), node=node)


def _diag(node: Node, graph: Graph, to: Lowered) -> None:
    """Drop a diagonal matrix that only products use."""
    if any(
        user.op != "matmul" or user.args[0] != Ref(node.name) for user in graph.users(node.name)
    ):
        to.nodes.append(node)


def _triangle(node: Node, graph: Graph, to: Lowered) -> None:
    """Take the triangle of a product as a product that leaves the rest out."""
    product = next((n for n in to.nodes if n.name == getattr(node.args[0], "name", "")), None)
    if product is not None and product.op in {"ones", "full", "ones_like", "full_like", "eye"}:
        to.nodes.append(node)  # a mask
        return
    if (
        product is None
        or product.op != "matmul"
        or len(graph.users(product.name)) != 1
        or node.argument(1, "diagonal", 0)
    ):
        raise UncoveredError(f"{node.op} of something else than a product")
    to.nodes.remove(product)
    to.last("matmul", *product.args, node=node, triangle=-1 if node.op == "tril" else 1)


def _added(node: Node, graph: Graph, to: Lowered) -> None:
    """Add a product to a tensor: addmm, baddbmm."""
    del graph
    if node.kwargs.get("beta", 1) != 1 or node.kwargs.get("alpha", 1) != 1:
        raise UncoveredError(f"{node.op} with factors")
    bias, a, b = (node.argument(k, name) for k, name in enumerate(("input", "mat1", "mat2")))
    to.last("add", to.add("matmul", a, b, shape=node.shape), bias, node=node)


def _outer(node: Node, graph: Graph, to: Lowered) -> None:
    a, b = node.argument(0, "input"), node.argument(1, "vec2")
    rows = to.add("unsqueeze", a, 1, shape=(*shape_of(graph, to, a), 1))
    to.last("mul", rows, b, node=node)


PRODUCTS: dict[str, Rule] = {
    "linear": _linear,
    "addmm": _added,
    "dot": _dot,
    "matmul": _matmul,
    "outer": _outer,
    "diag": _diag,
    "triu": _triangle,
    "tril": _triangle,
    "einsum": einsum,
}
