"""Operations that are made of simpler ones: norms, pooling to one element, statistics."""

from __future__ import annotations

from typing import Any

from grader.repair.compose.graph import Graph, Node, Ref, UncoveredError
from grader.repair.compose.losses import LOSSES
from grader.repair.compose.lowered import Lowered, Rule, shape_of
from grader.repair.compose.pointwise import COMPARED
from grader.repair.compose.products import PRODUCTS

IDENTITY = {"identity", "contiguous", "clone", "detach"}


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


def _vector_norm(node: Node, graph: Graph, to: Lowered) -> None:
    x, p = node.argument(0, "input"), node.argument(1, "p", node.kwargs.get("ord", "fro"))
    dim, keep = node.argument(2, "dim"), bool(node.argument(3, "keepdim", False))
    shape = shape_of(graph, to, x)
    if p in {2, "fro", None}:
        squares = to.add("mul", x, x, shape=shape)
        to.last("sqrt", to.add("sum", squares, dim, keep, shape=node.shape), node=node)
    elif p == 1:
        to.last("sum", to.add("abs", x, shape=shape), dim, keep, node=node)
    else:
        raise UncoveredError(f"a norm with p = {p}")


def _adaptive(node: Node, graph: Graph, to: Lowered) -> None:
    """Take pooling to one element as a reduction."""
    size = node.argument(1, "output_size")
    size = node.attributes.get("output_size", size) if node.path else size
    sizes = size if isinstance(size, list | tuple) else [size]
    if any(item != 1 for item in sizes):
        raise UncoveredError("adaptive pooling to more than one element")
    x = node.argument(0, "input")
    rank = len(shape_of(graph, to, x))
    op = "mean" if node.op == "adaptive_avg_pool" else "amax"
    to.last(op, x, list(range(2, rank)), True, node=node)


def _dropout(node: Node, graph: Graph, to: Lowered) -> None:
    del graph
    active = (
        node.attributes.get("training", True) if node.path else node.argument(2, "training", True)
    )
    if active and node.argument(1, "p", node.attributes.get("p", 0.5)):
        raise UncoveredError("dropout in training: the result is random")
    to.last("contiguous", node.argument(0, "input"), node=node)


def _extremum(node: Node, graph: Graph, to: Lowered) -> None:
    """Take the larger or smaller of two tensors as what it is: elementwise."""
    del graph
    other = node.argument(1, "other")
    if isinstance(other, Ref):
        op = "minimum" if node.op == "min" else "maximum"
        to.last(op, node.argument(0, "input"), other, node=node)
    else:
        to.nodes.append(node)


def _variance(node: Node, graph: Graph, to: Lowered) -> None:
    """Variance and standard deviation, in two passes: the mean, then the squares of what is left."""
    x, dim = node.argument(0, "input"), node.argument(1, "dim")
    correction = node.kwargs.get("correction", int(node.argument(2, "unbiased", True)))
    shape = shape_of(graph, to, x)
    if node.shape is None or isinstance(dim, bool) or correction not in {0, 1}:
        raise UncoveredError(f"{node.op} with such arguments")
    given = dim if isinstance(dim, list | tuple) else [dim]
    dims = list(range(len(shape))) if dim is None else [each % len(shape) for each in given]
    keep = bool(node.argument(3, "keepdim", False))
    kept = tuple(1 if d in dims else size for d, size in enumerate(shape))
    away = to.add("sub", x, to.add("mean", x, dims, True, shape=kept), shape=shape)
    squares = to.add("mul", away, away, shape=shape)
    value = to.add("mean", squares, dims, keep, shape=node.shape)
    if correction:
        value = to.add("mul", value, _unbiased(x, dims, to), shape=node.shape)
    to.last("sqrt" if node.op == "std" else "contiguous", value, node=node)


def _unbiased(x: Any, dims: list[int], to: Lowered) -> Ref:
    """Return n / (n - 1), with n read from the sizes at run time."""
    count = to.add("size", x, dims[0], shape=None)
    for d in dims[1:]:
        more = to.add("size", x, d, shape=None)
        count = to.add("mul", count, more, shape=None)
    rest = to.add("sub", count, 1, shape=None)
    return to.add("truediv", count, rest, shape=None)


def _normalize(node: Node, graph: Graph, to: Lowered) -> None:
    """Divide by a norm that is no smaller than a least one."""
    x, p, dim = node.argument(0, "input"), node.argument(1, "p", 2.0), node.argument(2, "dim", 1)
    shape = shape_of(graph, to, x)
    if p not in {1, 2} or not isinstance(dim, int):
        raise UncoveredError(f"a norm with p = {p}")
    kept = tuple(1 if d == dim % len(shape) else size for d, size in enumerate(shape))
    terms = to.add("abs", x, shape=shape) if p == 1 else to.add("mul", x, x, shape=shape)
    total = to.add("sum", terms, dim, True, shape=kept)
    length = total if p == 1 else to.add("sqrt", total, shape=kept)
    least = to.add("clamp_min", length, node.argument(3, "eps", 1e-12), shape=kept)
    to.last("truediv", x, least, node=node)


def _rms_norm(node: Node, graph: Graph, to: Lowered) -> None:
    x, sizes = node.argument(0, "input"), node.argument(1, "normalized_shape")
    shape = shape_of(graph, to, x)
    own = node.attributes.get("elementwise_affine", True) if node.path else False
    weight = None if node.path else node.argument(2, "weight")
    if own:
        at = shape[len(shape) - len(sizes) :]
        weight = to.parameter(f"{node.path}.weight", shape=at)
    dims = list(range(len(shape) - len(sizes), len(shape)))
    kept = tuple(1 if d in dims else size for d, size in enumerate(shape))
    squares = to.add("mul", x, x, shape=shape)
    mean = to.add("mean", squares, dims, True, shape=kept)
    eps = node.argument(3, "eps")
    raised = to.add("add", mean, 2.0**-23 if eps is None else eps, shape=kept)
    scale = to.add("rsqrt", raised, shape=kept)
    if weight is None:
        to.last("mul", x, scale, node=node)
    else:
        to.last("mul", to.add("mul", x, scale, shape=shape), weight, node=node)


def _prelu(node: Node, graph: Graph, to: Lowered) -> None:
    """Find the slopes: one for each channel, or one for all."""
    if not node.path:
        raise UncoveredError("prelu as a function")
    x, count = node.argument(0, "input"), int(node.attributes.get("num_parameters", 1))
    slope = to.parameter(f"{node.path}.weight", shape=(count,))
    after = len(shape_of(graph, to, x)) - 2
    if count > 1 and after > 0:
        sizes = [count, *[1] * after]
        slope = to.add("view", slope, sizes, shape=tuple(sizes))
    to.last("prelu", x, slope, node=node)


def _glu(node: Node, graph: Graph, to: Lowered) -> None:
    """Multiply one half with the sigmoid of the other."""
    del graph
    dim = node.attributes.get("dim", node.argument(1, "dim", -1))
    halves = to.add("chunk", node.argument(0, "input"), 2, dim, shape=None)
    a, b = (to.add("getitem", halves, k, shape=node.shape) for k in range(2))
    to.last("mul", a, to.add("sigmoid", b, shape=node.shape), node=node)


def _softmin(node: Node, graph: Graph, to: Lowered) -> None:
    x = node.argument(0, "input")
    dim = node.attributes.get("dim") if node.path else node.argument(1, "dim")
    to.last("softmax", to.add("neg", x, shape=shape_of(graph, to, x)), dim, node=node)


def _lerp(node: Node, graph: Graph, to: Lowered) -> None:
    del graph
    a, b, share = (node.argument(k, name) for k, name in enumerate(("input", "end", "weight")))
    between = to.add("sub", b, a, shape=node.shape)
    to.last("add", a, to.add("mul", between, share, shape=node.shape), node=node)


def _add_of_two(op: str) -> Rule:
    def rule(node: Node, graph: Graph, to: Lowered) -> None:
        del graph
        x, a, b = (node.argument(k, name) for k, name in enumerate(("input", "tensor1", "tensor2")))
        both = to.add(op, a, b, shape=node.shape)
        scaled = to.add("mul", both, node.kwargs.get("value", 1), shape=node.shape)
        to.last("add", x, scaled, node=node)

    return rule


def _as_number(node: Node, graph: Graph, to: Lowered) -> None:
    """Take a truth value as a number as what it is kept as: 1 or 0."""
    x = node.argument(0, "input")
    given = next((n for n in graph.nodes if isinstance(x, Ref) and n.name == x.name), None)
    if given is not None and given.op in COMPARED and node.args[1:] in {(), (None,)}:
        to.last("mul", x, 1.0, node=node)
    else:
        to.nodes.append(node)


def _not(node: Node, graph: Graph, to: Lowered) -> None:
    del graph
    if node.dtype != "bool":
        raise UncoveredError("the bits of a number")
    to.last("eq", node.argument(0, "input"), 0.0, node=node)


def _copy(node: Node, graph: Graph, to: Lowered) -> None:
    """Take a tensor that is copied into another as the value from then on."""
    x, source = node.argument(0, "input"), node.argument(1, "src")
    if shape_of(graph, to, x) != shape_of(graph, to, source):
        raise UncoveredError("a copy that is spread over more")
    to.last("contiguous", source, node=node)


def _embedding(node: Node, graph: Graph, to: Lowered) -> None:
    """Look rows up in a table: that moves data, so it stays torch's own indexing."""
    del graph
    table = node.argument(1, "weight")
    if node.path:
        table = to.parameter(f"{node.path}.weight", shape=())
    if node.argument(3, "max_norm") is not None:
        raise UncoveredError("an embedding that is renormalised")
    to.last("getitem", table, node.argument(0, "input"), node=node)


def _interpolate(node: Node, graph: Graph, to: Lowered) -> None:
    del graph
    if node.kwargs.get("mode", "nearest") != "nearest" or node.path:
        raise UncoveredError("interpolation between neighbours")
    to.nodes.append(node)


RULES: dict[str, Rule] = {
    **LOSSES,
    **PRODUCTS,
    "norm": _vector_norm,
    "vector_norm": _vector_norm,
    "adaptive_avg_pool": _adaptive,
    "adaptive_max_pool": _adaptive,
    "addcdiv": _add_of_two("truediv"),
    "addcmul": _add_of_two("mul"),
    "float": _as_number,
    "glu": _glu,
    "lerp": _lerp,
    "max": _extremum,
    "min": _extremum,
    "normalize": _normalize,
    "prelu": _prelu,
    "rms_norm": _rms_norm,
    "softmin": _softmin,
    "std": _variance,
    "var": _variance,
    "dropout": _dropout,
    "copy": _copy,
    "embedding": _embedding,
    "interpolate": _interpolate,
    "invert": _not,
    "logical_not": _not,
}
