"""Losses, written out as elementwise operations and a reduction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from grader.repair.compose.graph import Graph, Node, Ref, UncoveredError
from grader.repair.compose.lowered import Lowered, Rule, shape_of


def _reduced(node: Node, to: Lowered, value: Ref) -> None:
    """Close a loss with its reduction."""
    how = node.argument(2, "reduction", "mean")
    if how not in {"mean", "sum"}:
        raise UncoveredError(f"a loss with reduction {how!r}")
    to.last(how, value, node=node)


def _loss(
    build: Callable[[Lowered, Node, Any, Any, tuple[int, ...]], Ref],
) -> Rule:
    def rule(node: Node, graph: Graph, to: Lowered) -> None:
        a, b = node.argument(0, "input"), node.argument(1, "target")
        _reduced(node, to, build(to, node, a, b, shape_of(graph, to, a)))

    return rule


def _mse(to: Lowered, node: Node, a: Any, b: Any, shape: tuple[int, ...]) -> Ref:
    del node
    d = to.add("sub", a, b, shape=shape)
    return to.add("mul", d, d, shape=shape)


def _l1(to: Lowered, node: Node, a: Any, b: Any, shape: tuple[int, ...]) -> Ref:
    del node
    return to.add("abs", to.add("sub", a, b, shape=shape), shape=shape)


def _huber(to: Lowered, node: Node, a: Any, b: Any, shape: tuple[int, ...]) -> Ref:
    """0.5 m (2 d - m) with m = min(d, delta): what both branches of the loss are; `smooth_l1` divides by delta."""
    smooth = node.op == "smooth_l1_loss"
    delta = node.argument(3, "beta" if smooth else "delta", 1.0)
    if not isinstance(delta, int | float) or delta <= 0:
        raise UncoveredError("a Huber loss without a threshold")
    d = _l1(to, node, a, b, shape)
    m = to.add("clamp", d, None, float(delta), shape=shape)
    twice = to.add("mul", d, 2.0, shape=shape)
    inner = to.add("sub", twice, m, shape=shape)
    factor = 0.5 / delta if smooth else 0.5
    return to.add("mul", to.add("mul", m, inner, shape=shape), factor, shape=shape)


def _with_logits(to: Lowered, node: Node, a: Any, b: Any, shape: tuple[int, ...]) -> Ref:
    """max(a, 0) - a b + log(1 + exp(-|a|)): nothing in it overflows."""
    if node.kwargs.get("weight") is not None or node.kwargs.get("pos_weight") is not None:
        raise UncoveredError("cross entropy with weights")

    def step(op: str, *args: Any) -> Ref:
        return to.add(op, *args, shape=shape)

    rest = step("log1p", step("exp", step("neg", step("abs", a))))
    return step("add", step("sub", step("relu", a), step("mul", a, b)), rest)


def _binary(to: Lowered, node: Node, a: Any, b: Any, shape: tuple[int, ...]) -> Ref:
    """-(b log a + (1 - b) log(1 - a)), each logarithm at least -100, as in torch."""
    if node.kwargs.get("weight") is not None:
        raise UncoveredError("cross entropy with weights")

    def step(op: str, *args: Any) -> Ref:
        return to.add(op, *args, shape=shape)

    of = step("clamp_min", step("log", a), -100.0)
    others = step("clamp_min", step("log1p", step("neg", a)), -100.0)
    weighed = step("mul", step("add", step("neg", b), 1.0), others)
    return step("neg", step("add", step("mul", b, of), weighed))


def _likelihood(node: Node, graph: Graph, to: Lowered) -> None:
    """Cross entropy takes its own logarithm, which changes nothing where the values are one already."""
    value = node.argument(0, "input")
    made = to.made(value)
    if made is None or made.op != "log_softmax" or node.argument(2, "weight") is not None:
        raise UncoveredError("a likelihood of something else than log_softmax")
    _cross_entropy(node, graph, to)


def _cross_entropy(node: Node, graph: Graph, to: Lowered) -> None:
    del graph
    if node.attributes.get("label_smoothing") or node.kwargs.get("label_smoothing"):
        raise UncoveredError("cross entropy with label smoothing")
    to.last("row_loss", node.argument(0, "input"), node.argument(1, "target"), node=node)


def _kl(node: Node, graph: Graph, to: Lowered) -> None:
    a, b = node.argument(0, "input"), node.argument(1, "target")
    shape = shape_of(graph, to, a)
    if node.kwargs.get("log_target") or node.attributes.get("log_target"):
        raise UncoveredError("KL divergence of a target in logarithms")
    safe = to.add("clamp_min", b, 1e-38, shape=shape)
    logs = to.add("sub", to.add("log", safe, shape=shape), a, shape=shape)
    terms = to.add("mul", b, logs, shape=shape)
    how = node.kwargs.get("reduction", node.attributes.get("reduction", "mean"))
    if how == "batchmean":  # whatever the batch: the mean over it of what the rest sums to
        rest = list(range(1, len(shape)))
        each = to.add("sum", terms, rest, False, shape=shape[:1]) if rest else terms
        to.last("mean", each, node=node)
    else:
        _reduced(node, to, terms)


def _cosine(node: Node, graph: Graph, to: Lowered) -> None:
    a, b = node.argument(0, "x1"), node.argument(1, "x2")
    dim = node.attributes.get("dim", node.argument(2, "dim", 1))
    shape = shape_of(graph, to, a)

    def total(u: Any, v: Any) -> Ref:
        product = to.add("mul", u, v, shape=shape)
        return to.add("sum", product, dim, False, shape=node.shape)

    def length(u: Any) -> Ref:
        root = to.add("sqrt", total(u, u), shape=node.shape)
        return to.add("clamp_min", root, 1e-8, shape=node.shape)

    to.last(
        "truediv",
        total(a, b),
        to.add("mul", length(a), length(b), shape=node.shape),
        node=node,
    )


def _triplet(node: Node, graph: Graph, to: Lowered) -> None:
    a, p, q = (node.argument(k, name) for k, name in enumerate(("anchor", "positive", "negative")))
    if node.attributes.get("swap") or node.attributes.get("p", 2) != 2:
        raise UncoveredError("a triplet loss with swap, or another norm")
    shape = shape_of(graph, to, a)

    def distance(other: Any) -> Ref:
        d = to.add("add", to.add("sub", a, other, shape=shape), 1e-6, shape=shape)
        squares = to.add("mul", d, d, shape=shape)
        summed = to.add("sum", squares, len(shape) - 1, False, shape=shape[:-1])
        return to.add("sqrt", summed, shape=shape[:-1])

    gap = to.add("sub", distance(p), distance(q), shape=shape[:-1])
    margin = float(node.attributes.get("margin", 1.0))
    raised = to.add("add", gap, margin, shape=shape[:-1])
    to.last("mean", to.add("relu", raised, shape=shape[:-1]), node=node)


LOSSES: dict[str, Rule] = {
    "mse_loss": _loss(_mse),
    "l1_loss": _loss(_l1),
    "smooth_l1_loss": _loss(_huber),
    "huber_loss": _loss(_huber),
    "binary_cross_entropy": _loss(_binary),
    "binary_cross_entropy_with_logits": _loss(_with_logits),
    "cross_entropy": _cross_entropy,
    "nll_loss": _likelihood,
    "kl_div": _kl,
    "cosine_similarity": _cosine,
    "triplet_margin_loss": _triplet,
}
