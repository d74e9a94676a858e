"""Losses, written out as elementwise operations and a reduction."""

from __future__ import annotations

from collections.abc import Callable

from grader.repair.compose.graph import Node, UncoveredError
from grader.repair.compose.lowered import Lowered, Rule, Value

Terms = Callable[[Node, Value, Value], Value]


def _of_terms(terms: Terms) -> Rule:
    """Return the rule of a loss that reduces its terms, made of the input and the target."""

    def rule(node: Node, to: Lowered) -> Value:
        made = terms(node, to.tensor(node, 0, "input"), to.tensor(node, 1, "target"))
        return _close_with_reduction(made, node.argument(2, "reduction", "mean"))

    return rule


def _close_with_reduction(value: Value, how: object) -> Value:
    if how not in {"mean", "sum"}:
        raise UncoveredError(f"a loss with reduction {how!r}")
    return value.over(str(how))


def _mse(_node: Node, a: Value, b: Value) -> Value:
    d = a - b
    return d * d


def _l1(_node: Node, a: Value, b: Value) -> Value:
    return (a - b).op("abs")


def _huber(node: Node, a: Value, b: Value) -> Value:
    """0.5 m (2 d - m) with m = min(d, delta): what both branches of the loss are; `smooth_l1` divides by delta."""
    smooth = node.op == "smooth_l1_loss"
    delta = node.argument(3, "beta" if smooth else "delta", 1.0)
    if not isinstance(delta, int | float) or delta <= 0:
        raise UncoveredError("a Huber loss without a threshold")
    d = _l1(node, a, b)
    m = d.op("clamp", None, float(delta))
    return m * (d * 2.0 - m) * (0.5 / delta if smooth else 0.5)


def _with_logits(node: Node, a: Value, b: Value) -> Value:
    """max(a, 0) - a b + log(1 + exp(-|a|)): nothing in it overflows."""
    _without_weights(node)
    rest = (-a.op("abs")).op("exp").op("log1p")
    return a.op("relu") - a * b + rest


def _binary(node: Node, a: Value, b: Value) -> Value:
    """-(b log a + (1 - b) log(1 - a)), each logarithm at least -100, as in torch."""
    _without_weights(node)
    of = a.op("log").op("clamp_min", -100.0)
    others = (-a).op("log1p").op("clamp_min", -100.0)
    weighed = (-b + 1.0) * others
    return -(b * of + weighed)


def _without_weights(node: Node) -> None:
    if node.kwargs.get("weight") is not None or node.kwargs.get("pos_weight") is not None:
        raise UncoveredError("cross entropy with weights")


def _likelihood(node: Node, to: Lowered) -> Value:
    """Cross entropy takes its own logarithm, which changes nothing where the values are one already."""
    made = to.node_of(node.argument(0, "input"))
    if made is None or made.op != "log_softmax" or node.argument(2, "weight") is not None:
        raise UncoveredError("a likelihood of something else than log_softmax")
    return _cross_entropy(node, to)


def _cross_entropy(node: Node, to: Lowered) -> Value:
    if node.attributes.get("label_smoothing") or node.kwargs.get("label_smoothing"):
        raise UncoveredError("cross entropy with label smoothing")
    return to.add("row_loss", node.argument(0, "input"), node.argument(1, "target"), shape=())


def _kl(node: Node, to: Lowered) -> Value:
    a, b = to.tensor(node, 0, "input"), to.tensor(node, 1, "target")
    if node.kwargs.get("log_target") or node.attributes.get("log_target"):
        raise UncoveredError("KL divergence of a target in logarithms")
    terms = b * (b.op("clamp_min", 1e-38).op("log") - a)
    how = node.kwargs.get("reduction", node.attributes.get("reduction", "mean"))
    if how != "batchmean":
        return _close_with_reduction(terms, node.argument(2, "reduction", "mean"))
    rest = list(
        range(1, len(a.shape))
    )  # whatever the batch: the mean over it of what the rest sums to
    return (terms.over("sum", rest) if rest else terms).over("mean")


def _cosine(node: Node, to: Lowered) -> Value:
    a, b = to.tensor(node, 0, "x1"), to.tensor(node, 1, "x2")
    dim = node.attributes.get("dim", node.argument(2, "dim", 1))

    def length(u: Value) -> Value:
        return (u * u).over("sum", dim).op("sqrt").op("clamp_min", 1e-8)

    return (a * b).over("sum", dim) / (length(a) * length(b))


def _triplet(node: Node, to: Lowered) -> Value:
    a, p, q = (to.tensor(node, k, name) for k, name in enumerate(("anchor", "positive", "negative")))  # fmt: skip
    if node.attributes.get("swap") or node.attributes.get("p", 2) != 2:
        raise UncoveredError("a triplet loss with swap, or another norm")

    def distance(other: Value) -> Value:
        d = a - other + 1e-6
        return (d * d).over("sum", len(a.shape) - 1).op("sqrt")

    margin = float(node.attributes.get("margin", 1.0))
    return (distance(p) - distance(q) + margin).op("relu").over("mean")


LOSSES: dict[str, Rule] = {
    "mse_loss": _of_terms(_mse),
    "l1_loss": _of_terms(_l1),
    "smooth_l1_loss": _of_terms(_huber),
    "huber_loss": _of_terms(_huber),
    "binary_cross_entropy": _of_terms(_binary),
    "binary_cross_entropy_with_logits": _of_terms(_with_logits),
    "cross_entropy": _cross_entropy,
    "nll_loss": _likelihood,
    "kl_div": _kl,
    "cosine_similarity": _cosine,
    "triplet_margin_loss": _triplet,
}
