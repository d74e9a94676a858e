"""Lowering of operations to simpler ones: pooling to one element, statistics, softmax."""

from __future__ import annotations

from collections.abc import Sequence

from grader.repair.compose.graph import Graph, Node, Ref, UncoveredError
from grader.repair.compose.losses import LOSSES
from grader.repair.compose.lowered import Lowered, Rule, Value
from grader.repair.compose.norms import NORMS, sum_exponentials_online
from grader.repair.compose.pointwise import COMPARED
from grader.repair.compose.products import PRODUCTS, multiply_by_reciprocals
from grader.repair.compose.rows_first import reduce_rows_first

IDENTITY = {"identity", "contiguous", "clone", "detach"}


def lower(graph: Graph) -> Graph:
    """Return the graph with those operations written out, in the forms that fuse best."""
    to = Lowered(graph)
    for node in graph.nodes:
        rule = RULES.get(node.op)
        if rule is not None and rule(node, to) is not None:
            to.close(node)
        else:
            to.nodes.append(node)
    made = _without_unused(to.nodes)
    for rewrite in (multiply_by_reciprocals, reduce_rows_first):
        made = rewrite(made, Lowered(made, numbers=to.numbers))
    return _without_unused(sum_exponentials_online(made).nodes)


def _without_unused(nodes: Sequence[Node]) -> Graph:
    """Return the graph without unused nodes; arguments stay."""
    needed: set[str] = set()
    for node in reversed(nodes):
        if node.op == "output" or node.name in needed:
            needed.update(node.inputs)
    kept = (n for n in nodes if n.name in needed or n.op in {"output", "placeholder"})
    return Graph(tuple(kept))


def _adaptive(node: Node, to: Lowered) -> Value:
    """Take pooling to one element as a reduction."""
    size = node.argument(1, "output_size")
    size = node.attributes.get("output_size", size) if node.path else size
    if any(item != 1 for item in (size if isinstance(size, list | tuple) else [size])):
        raise UncoveredError("adaptive pooling to more than one element")
    x = to.tensor(node, 0, "input")
    how = "mean" if node.op == "adaptive_avg_pool" else "amax"
    return x.over(how, list(range(2, len(x.shape))), keep=True)


def _dropout(node: Node, to: Lowered) -> Value:
    given = node.argument(2, "training", True)
    active = node.attributes.get("training", True) if node.path else given
    if active and node.argument(1, "p", node.attributes.get("p", 0.5)):
        raise UncoveredError("dropout in training: the result is random")
    return to.tensor(node, 0, "input").op("contiguous")


def _extremum(node: Node, to: Lowered) -> Value | None:
    """Lower the larger or smaller of two tensors to an elementwise operation."""
    x, other = to.argument_of(node, 0, "input"), to.argument_of(node, 1, "other")
    if not isinstance(other, Value) or not isinstance(x, Value):
        return None
    return x.op("minimum" if node.op == "min" else "maximum", other)


def _variance(node: Node, to: Lowered) -> Value:
    """Variance and standard deviation, in two passes: the mean, then the squares of what is left."""
    x, dim = to.tensor(node, 0, "input"), node.argument(1, "dim")
    correction = node.kwargs.get("correction", int(node.argument(2, "unbiased", True)))
    if node.shape is None or isinstance(dim, bool) or correction not in {0, 1}:
        raise UncoveredError(f"{node.op} with such arguments")
    rank = len(x.shape)
    given = dim if isinstance(dim, list | tuple) else [dim]
    dims = list(range(rank)) if dim is None else [each % rank for each in given]
    away = x - x.over("mean", dims, keep=True)
    value = (away * away).over("mean", dims, keep=bool(node.argument(3, "keepdim", False)))
    if correction:
        value = value * _unbiased_factor(x, dims)
    return value.op("sqrt" if node.op == "std" else "contiguous")


def _unbiased_factor(x: Value, dims: list[int]) -> Value:
    """Return n / (n - 1), with n read from the sizes at run time."""
    count = x.size(dims[0])
    for dim in dims[1:]:
        count = count * x.size(dim)
    return count / (count - 1)


def _softmax(node: Node, to: Lowered) -> Value | None:
    """Softmax and its logarithm along rows, where formulas are computed beside it."""
    dim = node.attributes.get("dim") if node.path else node.argument(1, "dim")
    x = to.tensor(node, 0, "input")
    if dim not in {-1, len(x.shape) - 1} or not to.has_formulas_beside(node):
        return None
    away = x - x.over("amax", -1, keep=True)
    terms = away.op("exp")
    total = terms.over("sum", -1, keep=True)
    if node.op == "log_softmax":
        return away - total.op("log")
    return terms / total


def _prelu(node: Node, to: Lowered) -> Value:
    """Find the slopes: one for each channel, or one for all."""
    if not node.path:
        raise UncoveredError("prelu as a function")
    x, count = to.tensor(node, 0, "input"), int(node.attributes.get("num_parameters", 1))
    slope = to.parameter(f"{node.path}.weight", (count,))
    after = len(x.shape) - 2
    if count > 1 and after > 0:
        slope = to.add("view", slope, [count, *[1] * after], shape=(count, *[1] * after))
    return x.op("prelu", slope)


def _glu(node: Node, to: Lowered) -> Value:
    """Multiply one half with the sigmoid of the other."""
    dim = node.attributes.get("dim", node.argument(1, "dim", -1))
    halves = to.add("chunk", node.argument(0, "input"), 2, dim, shape=None)
    a, b = (to.add("getitem", halves, k, shape=node.shape) for k in range(2))
    return a * b.op("sigmoid")


def _softmin(node: Node, to: Lowered) -> Value:
    dim = node.attributes.get("dim") if node.path else node.argument(1, "dim")
    return (-to.tensor(node, 0, "input")).op("softmax", dim)


def _lerp(node: Node, to: Lowered) -> Value:
    a, b = to.tensor(node, 0, "input"), to.tensor(node, 1, "end")
    return a + (b - a) * to.argument_of(node, 2, "weight")


def _add_of_two(op: str) -> Rule:
    def rule(node: Node, to: Lowered) -> Value:
        x, a, b = (to.tensor(node, k, name) for k, name in enumerate(("input", "tensor1", "tensor2")))  # fmt: skip
        return x + a.op(op, b).op("mul", node.kwargs.get("value", 1))

    return rule


def _as_number(node: Node, to: Lowered) -> Value | None:
    """Lower the conversion of a boolean to a number: 1 or 0."""
    x = node.argument(0, "input")
    given = next((n for n in to.graph.nodes if isinstance(x, Ref) and n.name == x.name), None)
    compared = given is not None and given.op in COMPARED
    return to.tensor(node, 0, "input") * 1.0 if compared and node.args[1:] in {(), (None,)} else None  # fmt: skip


def _not(node: Node, to: Lowered) -> Value:
    if node.dtype != "bool":
        raise UncoveredError("the bits of a number")
    return to.tensor(node, 0, "input").op("eq", 0.0)


def _copy(node: Node, to: Lowered) -> Value:
    """Lower a copy into another tensor to its new value."""
    source = to.tensor(node, 1, "src")
    if to.tensor(node, 0, "input").shape != source.shape:
        raise UncoveredError("a copy that is spread over more")
    return source.op("contiguous")


def _lower_embedding(node: Node, to: Lowered) -> Value:
    """Lower an embedding to torch's own indexing, since it only moves data."""
    table = (
        to.parameter(f"{node.path}.weight", ()) if node.path else to.argument_of(node, 1, "weight")
    )
    if node.argument(3, "max_norm") is not None:
        raise UncoveredError("an embedding that is renormalised")
    return to.add("getitem", table, node.argument(0, "input"), shape=node.shape)


def _interpolate(node: Node, to: Lowered) -> None:
    del to
    if node.kwargs.get("mode", "nearest") != "nearest" or node.path:
        raise UncoveredError("interpolation between neighbours")


RULES: dict[str, Rule] = {
    **LOSSES,
    **NORMS,
    **PRODUCTS,
    "adaptive_avg_pool": _adaptive,
    "adaptive_max_pool": _adaptive,
    "addcdiv": _add_of_two("truediv"),
    "addcmul": _add_of_two("mul"),
    "float": _as_number,
    "glu": _glu,
    "lerp": _lerp,
    "log_softmax": _softmax,
    "max": _extremum,
    "min": _extremum,
    "prelu": _prelu,
    "softmax": _softmax,
    "softmin": _softmin,
    "std": _variance,
    "var": _variance,
    "dropout": _dropout,
    "copy": _copy,
    "embedding": _lower_embedding,
    "interpolate": _interpolate,
    "invert": _not,
    "logical_not": _not,
}
