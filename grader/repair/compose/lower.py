"""Operations that are made of simpler ones: losses, norms, linear layers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from grader.repair.compose.graph import Graph, Node, Ref, UncoveredError

IDENTITY = {"identity", "contiguous", "clone", "detach"}


@dataclass
class Lowered:
    """The nodes so far, and how to add more that compute what one stood for."""

    nodes: list[Node] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=count)

    def add(
        self, op: str, *args: Any, like: Node, shape: tuple[int, ...] | None, **more: Any
    ) -> Ref:
        """Add a node and return its value."""
        name = f"{like.name}_s{next(self.numbers)}"
        self.nodes.append(Node(name, op, args, more, shape=shape, dtype="float32"))
        return Ref(name)

    def last(self, op: str, *args: Any, node: Node, **more: Any) -> None:
        """Add the node that gives the original's value, under its name."""
        self.nodes.append(
            replace(node, op=op, args=args, kwargs=more, path="", module="", attributes={})
        )


def lower(graph: Graph) -> Graph:
    """Return the graph with those operations written out."""
    to = Lowered()
    for node in graph.nodes:
        rule = RULES.get(node.op)
        if rule is None:
            to.nodes.append(node)
        else:
            rule(node, graph, to)
    return Graph(tuple(to.nodes))


def _shape(graph: Graph, to: Lowered, value: Any) -> tuple[int, ...]:
    nodes = (*to.nodes, *graph.nodes)
    found = next((n.shape for n in nodes if isinstance(value, Ref) and n.name == value.name), None)
    if found is None:
        raise UncoveredError("a shape isn't known")
    return found


def _linear(node: Node, graph: Graph, to: Lowered) -> None:
    x = node.argument(0, "input")
    shape = _shape(graph, to, x)
    if node.path:
        weight = Node(
            f"{node.name}_weight",
            "get_attr",
            path=f"{node.path}.weight",
            shape=(int(node.attributes["out_features"]), shape[-1]),
            dtype="float32",
        )
        to.nodes.append(weight)
        w, bias = Ref(weight.name), f"{node.path}.bias" if node.attributes.get("bias", True) else ""
    else:
        w, bias = node.argument(1, "weight"), ""
    given = None if node.path else node.argument(2, "bias")
    out = _shape(graph, to, w)[0]
    turned = to.add("t", w, like=node, shape=(shape[-1], out))
    if not bias and given is None:
        to.last("matmul", x, turned, node=node)
        return
    product = to.add("matmul", x, turned, like=node, shape=(*shape[:-1], out))
    if bias:
        name = f"{node.name}_bias"
        to.nodes.append(Node(name, "get_attr", path=bias, shape=(out,), dtype="float32"))
        given = Ref(name)
    to.last("add", product, given, node=node)


def _reduced(node: Node, to: Lowered, value: Ref) -> None:
    """Close a loss with its reduction."""
    how = node.argument(2, "reduction", "mean")
    if how not in {"mean", "sum"}:
        raise UncoveredError(f"a loss with reduction {how!r}")
    to.last(how, value, node=node)


def _loss(
    build: Callable[[Lowered, Node, Any, Any, tuple[int, ...]], Ref],
) -> Callable[[Node, Graph, Lowered], None]:
    def rule(node: Node, graph: Graph, to: Lowered) -> None:
        a, b = node.argument(0, "input"), node.argument(1, "target")
        _reduced(node, to, build(to, node, a, b, _shape(graph, to, a)))

    return rule


def _mse(to: Lowered, node: Node, a: Any, b: Any, shape: tuple[int, ...]) -> Ref:
    d = to.add("sub", a, b, like=node, shape=shape)
    return to.add("mul", d, d, like=node, shape=shape)


def _l1(to: Lowered, node: Node, a: Any, b: Any, shape: tuple[int, ...]) -> Ref:
    return to.add("abs", to.add("sub", a, b, like=node, shape=shape), like=node, shape=shape)


def _huber(to: Lowered, node: Node, a: Any, b: Any, shape: tuple[int, ...]) -> Ref:
    """0.5 m (2 d - m) with m = min(d, 1): what both branches of the loss are."""
    if node.argument(3, "beta", 1.0) != 1.0 or node.attributes.get("delta", 1.0) != 1.0:
        raise UncoveredError("a Huber loss with another threshold than 1")
    d = _l1(to, node, a, b, shape)
    m = to.add("clamp", d, None, 1.0, like=node, shape=shape)
    twice = to.add("mul", d, 2.0, like=node, shape=shape)
    inner = to.add("sub", twice, m, like=node, shape=shape)
    return to.add(
        "mul", to.add("mul", m, inner, like=node, shape=shape), 0.5, like=node, shape=shape
    )


def _vector_norm(node: Node, graph: Graph, to: Lowered) -> None:
    x, p = node.argument(0, "input"), node.argument(1, "p", node.kwargs.get("ord", "fro"))
    dim, keep = node.argument(2, "dim"), bool(node.argument(3, "keepdim", False))
    shape = _shape(graph, to, x)
    if p in {2, "fro", None}:
        squares = to.add("mul", x, x, like=node, shape=shape)
        to.last("sqrt", to.add("sum", squares, dim, keep, like=node, shape=node.shape), node=node)
    elif p == 1:
        to.last("sum", to.add("abs", x, like=node, shape=shape), dim, keep, node=node)
    else:
        raise UncoveredError(f"a norm with p = {p}")


def _adaptive(node: Node, graph: Graph, to: Lowered) -> None:
    size = node.argument(1, "output_size")
    size = node.attributes.get("output_size", size) if node.path else size
    sizes = size if isinstance(size, list | tuple) else [size]
    if any(item != 1 for item in sizes):
        raise UncoveredError("adaptive pooling to more than one element")
    x = node.argument(0, "input")
    rank = len(_shape(graph, to, x))
    to.last("mean", x, list(range(2, rank)), True, node=node)


def _dropout(node: Node, graph: Graph, to: Lowered) -> None:
    del graph
    active = (
        node.attributes.get("training", True) if node.path else node.argument(2, "training", True)
    )
    if active and node.argument(1, "p", node.attributes.get("p", 0.5)):
        raise UncoveredError("dropout in training: the result is random")
    to.last("contiguous", node.argument(0, "input"), node=node)


def _cross_entropy(node: Node, graph: Graph, to: Lowered) -> None:
    del graph
    if node.attributes.get("label_smoothing") or node.kwargs.get("label_smoothing"):
        raise UncoveredError("cross entropy with label smoothing")
    to.last("row_loss", node.argument(0, "input"), node.argument(1, "target"), node=node)


def _kl(node: Node, graph: Graph, to: Lowered) -> None:
    a, b = node.argument(0, "input"), node.argument(1, "target")
    shape = _shape(graph, to, a)
    if node.kwargs.get("log_target") or node.attributes.get("log_target"):
        raise UncoveredError("KL divergence of a target in logarithms")
    safe = to.add("clamp_min", b, 1e-38, like=node, shape=shape)
    logs = to.add("sub", to.add("log", safe, like=node, shape=shape), a, like=node, shape=shape)
    terms = to.add("mul", b, logs, like=node, shape=shape)
    how = node.kwargs.get("reduction", node.attributes.get("reduction", "mean"))
    if how == "batchmean":  # whatever the batch: the mean over it of what the rest sums to
        rest = list(range(1, len(shape)))
        each = to.add("sum", terms, rest, False, like=node, shape=shape[:1]) if rest else terms
        to.last("mean", each, node=node)
    else:
        _reduced(node, to, terms)


def _cosine(node: Node, graph: Graph, to: Lowered) -> None:
    a, b = node.argument(0, "x1"), node.argument(1, "x2")
    dim = node.attributes.get("dim", node.argument(2, "dim", 1))
    shape = _shape(graph, to, a)

    def total(u: Any, v: Any) -> Ref:
        product = to.add("mul", u, v, like=node, shape=shape)
        return to.add("sum", product, dim, False, like=node, shape=node.shape)

    def length(u: Any) -> Ref:
        root = to.add("sqrt", total(u, u), like=node, shape=node.shape)
        return to.add("clamp_min", root, 1e-8, like=node, shape=node.shape)

    to.last(
        "truediv",
        total(a, b),
        to.add("mul", length(a), length(b), like=node, shape=node.shape),
        node=node,
    )


def _triplet(node: Node, graph: Graph, to: Lowered) -> None:
    a, p, q = (node.argument(k, name) for k, name in enumerate(("anchor", "positive", "negative")))
    if node.attributes.get("swap") or node.attributes.get("p", 2) != 2:
        raise UncoveredError("a triplet loss with swap, or another norm")
    shape = _shape(graph, to, a)

    def distance(other: Any) -> Ref:
        d = to.add(
            "add", to.add("sub", a, other, like=node, shape=shape), 1e-6, like=node, shape=shape
        )
        squares = to.add("mul", d, d, like=node, shape=shape)
        summed = to.add("sum", squares, len(shape) - 1, False, like=node, shape=shape[:-1])
        return to.add("sqrt", summed, like=node, shape=shape[:-1])

    gap = to.add("sub", distance(p), distance(q), like=node, shape=shape[:-1])
    margin = float(node.attributes.get("margin", 1.0))
    raised = to.add("add", gap, margin, like=node, shape=shape[:-1])
    to.last("mean", to.add("relu", raised, like=node, shape=shape[:-1]), node=node)


def _matmul(node: Node, graph: Graph, to: Lowered) -> None:
    """Take a product with a diagonal matrix as a scaling of rows."""
    a = node.argument(0, "input")
    made = next((n for n in graph.nodes if isinstance(a, Ref) and n.name == a.name), None)
    if made is None or made.op != "diag" or len(_shape(graph, to, made.args[0])) != 1:
        to.nodes.append(node)
        return
    column = to.add(
        "unsqueeze", made.args[0], 1, like=node, shape=(*_shape(graph, to, made.args[0]), 1)
    )
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
    if (
        product is None
        or product.op != "matmul"
        or len(graph.users(product.name)) != 1
        or node.argument(1, "diagonal", 0)
    ):
        raise UncoveredError(f"{node.op} of something else than a product")
    to.nodes.remove(product)
    to.last("matmul", *product.args, node=node, triangle=-1 if node.op == "tril" else 1)


def _einsum(node: Node, graph: Graph, to: Lowered) -> None:
    """Take the sums of products that are matrix products as such."""
    del graph
    words = str(node.args[0]).replace(" ", "")
    left, _, right = words.partition(",")
    second, _, out = right.partition("->")
    plain = len(second) == 2 and left[-1:] == second[:1] and out == left[:-1] + second[1:]
    if not plain or len(set(left + second)) != len(left) + 1 or len(node.args) != 3:
        raise UncoveredError(f"einsum {words[:40]}")
    to.last("matmul", node.args[1], node.args[2], node=node)


RULES: dict[str, Callable[[Node, Graph, Lowered], None]] = {
    "matmul": _matmul,
    "diag": _diag,
    "triu": _triangle,
    "tril": _triangle,
    "einsum": _einsum,
    "linear": _linear,
    "mse_loss": _loss(_mse),
    "l1_loss": _loss(_l1),
    "smooth_l1_loss": _loss(_huber),
    "huber_loss": _loss(_huber),
    "norm": _vector_norm,
    "vector_norm": _vector_norm,
    "adaptive_avg_pool": _adaptive,
    "dropout": _dropout,
    "cross_entropy": _cross_entropy,
    "kl_div": _kl,
    "cosine_similarity": _cosine,
    "triplet_margin_loss": _triplet,
}
