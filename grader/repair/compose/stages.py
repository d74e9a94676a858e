"""Operations that need a kernel of their own: which template serves each, and how it is called."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from grader.repair.compose.graph import Node, Ref, UncoveredError
from grader.repair.compose.recurrent import recurrent
from grader.repair.compose.stage import Call, Stage, Writer
from grader.repair.families.family import Operation
from grader.repair.families.normalisations import MOMENTS
from grader.repair.families.reductions import LOG_SOFTMAX, ONLINE_SUM, REDUCTIONS, SOFTMAX
from grader.repair.families.windows import overlapping

LOG_SUM_EXP = replace(ONLINE_SUM, finish="return s.top + logf(s.sum);", maps=False)


def _numbers(value: Any, count: int, to: Writer) -> str:
    items = list(value) if isinstance(value, list | tuple) else [value] * count
    if len(items) == 1:
        items = items * count
    if len(items) != count or not all(isinstance(item, int | Ref) for item in items):
        raise UncoveredError("sizes that are no numbers")
    return to.value(items)


def _x(node: Node) -> Any:
    return node.argument(0, "input", node.kwargs.get("self"))


def matmul(node: Node, to: Writer) -> Call:
    """Multiply matrices, batched or not."""
    a, b = node.argument(0, "input"), node.argument(1, "other", node.kwargs.get("mat2"))
    left, right = to.value(a), to.value(b)
    ranks = to.rank(a), to.rank(b)
    triangle = node.kwargs.get("triangle", 0)
    stage = Stage("matmul", "matmul.cu.jinja", (("triangle", bool(triangle)),))
    if ranks[1] == 1 and ranks[0] >= 2:
        return Call(stage, f"KERNEL({left}, {right}.unsqueeze(-1)).squeeze(-1)")
    if ranks[0] < 2 or (ranks[1] > 2 and ranks[0] != ranks[1]):
        raise UncoveredError(f"matmul of ranks {ranks[0]} and {ranks[1]}")
    shapes = to.node(a).shape or (), to.node(b).shape or ()
    if ranks[1] > 2 and shapes[0][:-2] != shapes[1][:-2]:
        raise UncoveredError("matmul with broadcast batches")
    return Call(stage, f"KERNEL({left}, {right}{f', {triangle}' if triangle else ''})")


def conv(node: Node, to: Writer) -> Call:
    """Convolutions, plain and transposed."""
    dims = to.rank(_x(node)) - 2
    transposed = node.op == "conv_transpose"
    stage = Stage("conv", "conv.cu.jinja", (("transposed", transposed),))
    if node.attributes.get("padding_mode", "zeros") != "zeros":
        raise UncoveredError("convolution with padding that isn't zeros")
    if node.path:  # groups may follow from the sizes, as in a depthwise convolution
        weight, bias = f"{node.own}.weight", f"{node.own}.bias"
        groups = f"{node.own}.groups"
    else:
        groups = ""
        weight = to.value(node.argument(1, "weight"))
        bias = to.value(node.argument(2, "bias"))
    shift = 2 if node.path else 0
    given = (
        ("stride", "padding", "output_padding", "groups", "dilation")
        if transposed
        else ("stride", "padding", "dilation", "groups")
    )
    values = {
        name: node.attributes.get(name, node.argument(3 + k, name))
        if shift == 0
        else node.attributes.get(name)
        for k, name in enumerate(given)
    }
    sizes = [
        values.get("stride") or 1,
        values.get("padding") or 0,
        values.get("dilation") or 1,
        values.get("output_padding") or 0,
    ]
    words = ", ".join(_numbers(size, dims, to) for size in sizes)
    groups = groups or to.value(values.get("groups") or 1)
    return Call(stage, f"KERNEL({to.value(_x(node))}, {weight}, {bias}, {words}, {groups})")


def pool(node: Node, to: Writer) -> Call:
    """Maximum and average over windows."""
    dims = to.rank(_x(node)) - 2
    kernel = node.argument(1, "kernel_size")
    stride = node.argument(2, "stride") or kernel
    if node.path:
        kernel, stride = (
            node.attributes.get("kernel_size"),
            node.attributes.get("stride") or node.attributes.get("kernel_size"),
        )
    padding = node.argument(3, "padding", 0)
    if node.attributes.get("return_indices") or node.argument(6, "return_indices", False) is True:
        raise UncoveredError("pooling that returns indices")
    average = node.op == "avg_pool"
    padded = any(padding) if isinstance(padding, list | tuple) else bool(padding)
    if average and (
        (padded and node.argument(5, "count_include_pad", True) is False)
        or node.argument(6, "divisor_override") is not None
    ):
        raise UncoveredError("average pooling that leaves padding out")
    dilation = 1 if average else node.argument(4, "dilation", 1)
    ceil = bool(node.kwargs.get("ceil_mode", node.attributes.get("ceil_mode", False)))
    words = ", ".join(_numbers(v, dims, to) for v in (kernel, stride, padding, dilation))
    fixed = overlapping(dims, kernel, stride, 1 if dilation is None else dilation, padding)
    values = (("op", "avg" if average else "max"), ("fixed", fixed))
    stage = Stage("pool", "pool.cu.jinja", values)
    return Call(stage, f"KERNEL({to.value(_x(node))}, {words}, {ceil})")


def norm(node: Node, to: Writer) -> Call:
    """Layer, group and instance norm, as modules and as functions."""
    x, own = to.value(_x(node)), node.own
    stage = Stage(
        "norm", "normalise.cu.jinja", (("op", MOMENTS), ("layer", node.op == "layer_norm"))
    )
    if not node.path:
        return Call(stage, _norm_of_function(node, to, x))
    if node.op == "layer_norm":
        per = f"torch.Size({own}.normalized_shape).numel()"
        return Call(
            stage, f"KERNEL({x}, {own}.weight, {own}.bias, {x}.numel() // {per}, 1, {own}.eps)"
        )
    if node.op == "instance_norm" and node.attributes.get("track_running_stats"):
        raise UncoveredError("instance norm with running statistics")
    groups = f"{own}.num_groups" if node.op == "group_norm" else f"{x}.size(1)"
    inner = f"{x}[0, 0].numel()"
    weights = f"{own}.weight, {own}.bias"
    return Call(stage, f"KERNEL({x}, {weights}, {x}.size(0) * {groups}, {inner}, {own}.eps)")


def _norm_of_function(node: Node, to: Writer, x: str) -> str:
    names = {
        "layer_norm": ("normalized_shape", "weight", "bias", "eps"),
        "group_norm": ("num_groups", "weight", "bias", "eps"),
        "instance_norm": ("running_mean", "running_var", "weight", "bias", "", "", "eps"),
    }[node.op]
    given = {name: node.argument(k + 1, name) for k, name in enumerate(names)}
    if given.get("running_mean") is not None:
        raise UncoveredError("instance norm with running statistics")
    eps = to.value(1e-5 if given["eps"] is None else given["eps"])
    weights = f"{to.value(given['weight'])}, {to.value(given['bias'])}"
    if node.op == "layer_norm":
        per = f"torch.Size({to.value(given['normalized_shape'])}).numel()"
        return f"KERNEL({x}, {weights}, {x}.numel() // {per}, 1, {eps})"
    groups = to.value(given["num_groups"]) if node.op == "group_norm" else f"{x}.size(1)"
    return f"KERNEL({x}, {weights}, {x}.size(0) * {groups}, {x}[0, 0].numel(), {eps})"


def batch_norm(node: Node, to: Writer) -> Call:
    """Batch norm with its running statistics."""
    if not node.path:
        return _batch_norm_of_function(node, to)
    own = node.own
    if not node.attributes.get("track_running_stats", True):
        raise UncoveredError("batch norm without running statistics")
    if node.attributes.get("momentum") is None:
        raise UncoveredError("batch norm with a cumulative average")
    words = f"{own}.weight, {own}.bias, {own}.running_mean, {own}.running_var, {own}.training, {own}.momentum, {own}.eps"
    return Call(Stage("norm", "batch_norm.cu.jinja"), f"KERNEL({to.value(_x(node))}, {words})")


def _batch_norm_of_function(node: Node, to: Writer) -> Call:
    names = ("running_mean", "running_var", "weight", "bias", "training", "momentum", "eps")
    usual = dict(zip(names, (None, None, None, None, False, 0.1, 1e-5), strict=True))
    given = {name: node.argument(k + 1, name, usual[name]) for k, name in enumerate(names)}
    if given["running_mean"] is None or given["running_var"] is None:
        raise UncoveredError("batch norm without running statistics")
    order = ("weight", "bias", "running_mean", "running_var", "training", "momentum", "eps")
    words = ", ".join(to.value(given[name]) for name in order)
    return Call(Stage("norm", "batch_norm.cu.jinja"), f"KERNEL({to.value(_x(node))}, {words})")


NAMED = {"amax": "max", "amin": "min"}
ALONG: dict[str, Operation] = {
    **{
        name: REDUCTIONS[name] for name in ("sum", "mean", "prod", "argmax", "argmin", "max", "min")
    },
    "logsumexp": LOG_SUM_EXP,
}


def reduction(node: Node, to: Writer) -> Call:
    """Reductions along some dims, or all of them; several dims go one after the other."""
    operation = ALONG[NAMED.get(node.op, node.op)]
    stage = Stage("reduction", "reduce.cu.jinja", (("op", operation),))
    x, dim = to.value(_x(node)), node.argument(1, "dim", node.kwargs.get("axis"))
    keep = bool(node.argument(2, "keepdim", False))
    if dim is None:
        return Call(stage, f"KERNEL({x}.reshape(-1), 0, False)")
    rank = to.rank(_x(node))
    dims = sorted(
        {d % rank for d in (dim if isinstance(dim, list | tuple) else [dim])}, reverse=True
    )
    if len(dims) > 1 and node.op not in {"sum", "mean", "prod", "amax", "amin", "logsumexp"}:
        raise UncoveredError(f"{node.op} over several dims")
    words = x
    if len(dims) > 1 and dims == list(range(dims[0], dims[0] - len(dims), -1)):
        low = dims[-1]
        words = f"KERNEL({x}.flatten({low}, {dims[0]}), {low}, {keep})"
        for _ in dims[1:] if keep else ():
            words += f".unsqueeze({low})"
        return Call(stage, words)
    for each in dims:
        words = f"KERNEL({words}, {each}, {keep})"
    return Call(stage, words)


def softmax(node: Node, to: Writer) -> Call:
    """Softmax and its logarithm."""
    operation = LOG_SOFTMAX if node.op == "log_softmax" else SOFTMAX
    dim = node.argument(1, "dim")
    dim = node.attributes.get("dim") if node.path else dim
    if not isinstance(dim, int):
        raise UncoveredError("softmax without a dim")
    return Call(
        Stage("softmax", "map.cu.jinja", (("op", operation),)),
        f"KERNEL({to.value(_x(node))}, {dim})",
    )


def scan(node: Node, to: Writer) -> Call:
    """Sum or multiply up along a dim."""
    dim = node.argument(1, "dim")
    sign, start = ("*", "1.0f") if node.op == "cumprod" else ("+", "0.0f")
    values = (("op", sign), ("start", start), ("reverse", False), ("exclusive", False))
    return Call(
        Stage("scan", "scan.cu.jinja", values),
        f"KERNEL({to.value(_x(node))}, None, {to.value(dim)})",
    )


def attention(node: Node, to: Writer) -> Call:
    """Scaled dot product attention, plain or causal."""
    mask, dropout = node.argument(3, "attn_mask"), node.argument(4, "dropout_p", 0.0)
    if mask is not None or dropout or node.kwargs.get("scale") is not None:
        raise UncoveredError("attention with a mask, dropout or a scale of its own")
    if node.kwargs.get("enable_gqa"):
        raise UncoveredError("attention whose heads share keys")
    causal = bool(node.argument(5, "is_causal", False))
    given = ", ".join(
        to.value(node.argument(k, name)) for k, name in enumerate(("query", "key", "value"))
    )
    return Call(
        Stage("attention", "attention.cu.jinja", (("causal", causal),)),
        f"KERNEL({given}{', True' if causal else ''})",
    )


STAGES: dict[str, Callable[[Node, Writer], Call]] = {
    "matmul": matmul,
    "conv": conv,
    "conv_transpose": conv,
    "max_pool": pool,
    "avg_pool": pool,
    "layer_norm": norm,
    "group_norm": norm,
    "instance_norm": norm,
    "batch_norm": batch_norm,
    **dict.fromkeys(
        ("sum", "mean", "prod", "argmax", "argmin", "amax", "amin", "max", "min", "logsumexp"),
        reduction,
    ),
    "softmax": softmax,
    "log_softmax": softmax,
    "cumsum": scan,
    "cumprod": scan,
    "scaled_dot_product_attention": attention,
    **dict.fromkeys(("lstm", "gru", "rnn"), recurrent),
}
