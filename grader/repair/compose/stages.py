"""Operations with their own kernel: the template of each, and its call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from grader.repair.compose.graph import Node, Ref, UncoveredError
from grader.repair.compose.operations import operations
from grader.repair.compose.recurrent import recurrent
from grader.repair.compose.stage import Call, Stage, Writer
from grader.repair.compose.storage import C_TYPES


def _numbers(value: Any, count: int, to: Writer) -> str:
    items = list(value) if isinstance(value, list | tuple) else [value] * count
    items = items * count if len(items) == 1 else items
    if len(items) != count or not all(isinstance(item, int | Ref) for item in items):
        raise UncoveredError("sizes that are no numbers")
    return to.value(items)


def _x(node: Node) -> Any:
    return node.argument(0, "input", node.kwargs.get("self"))


def _given_settings(node: Node, *names: str) -> dict[str, Any]:
    """Return a layer's attributes of these names, or a function's arguments in this order after its input."""
    if node.path:
        return {name: node.attributes.get(name, node.argument(k, name)) for k, name in enumerate(names, 1)}  # fmt: skip
    return {name: node.argument(k, name) for k, name in enumerate(names, 1)}


def _words(node: Node, to: Writer, given: dict[str, Any], *names: str) -> str:
    """Return arguments as Python text: a layer's attributes, or a function's arguments."""
    own = (f"{node.own}.{name}" if node.path else to.value(given[name]) for name in names)
    return ", ".join(own)


def matmul(node: Node, to: Writer) -> Call:
    """Multiply matrices, batched or not."""
    a, b = node.argument(0, "input"), node.argument(1, "other", node.kwargs.get("mat2"))
    left, right = to.value(a), to.value(b)
    ranks = to.rank(a), to.rank(b)
    triangle = node.kwargs.get("triangle", 0)
    stage = Stage("matmul", "matmul.cu.jinja", (("triangle", bool(triangle)),))
    single = ranks[1] == 1 or (ranks[1] == 2 and (to.node(b).shape or ())[-1:] == (1,))
    if ranks[0] == 2 and single and not triangle:
        return Call(Stage("matvec", "matvec.cu.jinja"), f"KERNEL({left}, {right})")
    if ranks[1] == 1 and ranks[0] >= 2:
        return Call(stage, f"KERNEL({left}, {right}.unsqueeze(-1)).squeeze(-1)")
    if ranks[0] < 2 or (ranks[1] > 2 and ranks[0] != ranks[1]):
        raise UncoveredError(f"matmul of ranks {ranks[0]} and {ranks[1]}")
    shapes = to.node(a).shape or (), to.node(b).shape or ()
    if ranks[1] > 2 and shapes[0][:-2] != shapes[1][:-2]:
        raise UncoveredError("matmul with broadcast batches")
    return Call(stage, f"KERNEL({left}, {right}{f', {triangle}' if triangle else ''})")


PLAIN_SIZES = ("stride", "padding", "dilation", "groups")
TRANSPOSED_SIZES = ("stride", "padding", "output_padding", "groups", "dilation")


def conv(node: Node, to: Writer) -> Call:
    """Convolutions, plain and transposed."""
    dims = to.rank(_x(node)) - 2
    transposed = node.op == "conv_transpose"
    if node.attributes.get("padding_mode", "zeros") != "zeros":
        raise UncoveredError("convolution with padding that isn't zeros")
    sizes = TRANSPOSED_SIZES if transposed else PLAIN_SIZES
    given = _given_settings(node, "weight", "bias", *sizes)
    usual = {"stride": 1, "padding": 0, "dilation": 1, "output_padding": 0}
    words = [_numbers(given.get(name) or least, dims, to) for name, least in usual.items()]
    given["groups"] = given["groups"] or 1
    tensors = _words(node, to, given, "weight", "bias")
    # a layer's groups may follow from the sizes, as in a depthwise convolution
    words.append(_words(node, to, given, "groups"))
    narrow = C_TYPES.get(to.node(_x(node)).half, "")
    values = (
        ("transposed", transposed),
        ("narrow", narrow),
        ("channels", _channels(node, given, to)),
        ("width", _filter_width(node, given, to)),
    )
    stage = Stage("conv", "conv.cu.jinja", values)
    return Call(stage, f"KERNEL({to.value(_x(node))}, {tensors}, {', '.join(words)})")


def _channels(node: Node, given: dict[str, Any], to: Writer) -> int:
    """Return the number of channels for each thread: those that share inputs, at most 8."""
    groups, weight = given["groups"], given["weight"]
    if not isinstance(groups, int) and isinstance(weight, Ref) and node.op == "conv":
        inputs = to.node(weight).shape or (0, 0)
        groups = (to.node(_x(node)).shape or (0, 0))[1] // max(1, inputs[1])
    made = (node.shape or (0, 0))[1]
    return min(8, max(1, made // max(1, groups))) if isinstance(groups, int) else 8


def _filter_width(node: Node, given: dict[str, Any], to: Writer) -> int:
    """Return the filter's width along the last axis, if known."""
    weight, layer = given["weight"], node.attributes.get("kernel_size")
    shape = to.node(weight).shape if isinstance(weight, Ref) else layer
    width = shape[-1] if isinstance(shape, list | tuple) and shape else shape
    return width if isinstance(width, int) else 1


def pool(node: Node, to: Writer) -> Call:
    """Maximum and average over windows."""
    dims, average = to.rank(_x(node)) - 2, node.op == "avg_pool"
    given = _given_settings(node, "kernel_size", "stride", "padding")
    kernel, padding = given["kernel_size"], given["padding"] or 0
    stride = given["stride"] or kernel
    if node.attributes.get("return_indices") or node.argument(6, "return_indices", False) is True:
        raise UncoveredError("pooling that returns indices")
    padded = any(padding) if isinstance(padding, list | tuple) else bool(padding)
    outside = padded and node.argument(5, "count_include_pad", True) is False
    if average and (outside or node.argument(6, "divisor_override") is not None):
        raise UncoveredError("average pooling that leaves padding out")
    dilation = 1 if average else node.argument(4, "dilation", 1)
    ceil = bool(node.kwargs.get("ceil_mode", node.attributes.get("ceil_mode", False)))
    words = ", ".join(_numbers(v, dims, to) for v in (kernel, stride, padding, dilation))
    fixed = overlapping_windows(dims, kernel, stride, 1 if dilation is None else dilation, padding)
    stage = Stage("pool", "pool.cu.jinja", (("op", "avg" if average else "max"), ("fixed", fixed)))
    return Call(stage, f"KERNEL({to.value(_x(node))}, {words}, {ceil})")


NORMS = {
    "layer_norm": ("normalized_shape", "weight", "bias", "eps"),
    "group_norm": ("num_groups", "weight", "bias", "eps"),
    "instance_norm": ("running_mean", "running_var", "weight", "bias", "", "", "eps"),
}
"""Arguments of these functions after their input."""


def norm(node: Node, to: Writer) -> Call:
    """Layer, group and instance norm, as modules and as functions."""
    x, layer = to.value(_x(node)), node.op == "layer_norm"
    given = _given_settings(node, *NORMS[node.op])
    tracked = node.attributes.get("track_running_stats") or given.get("running_mean") is not None
    if node.op == "instance_norm" and tracked:
        raise UncoveredError("instance norm with running statistics")
    given["eps"] = 1e-5 if given["eps"] is None else given["eps"]
    if layer:
        per = f"torch.Size({_words(node, to, given, 'normalized_shape')}).numel()"
        groups, inner = f"{x}.numel() // {per}", "1"
    else:
        grouped = node.op == "group_norm"
        count = _words(node, to, given, "num_groups") if grouped else f"{x}.size(1)"
        groups, inner = f"{x}.size(0) * {count}", f"{x}[0, 0].numel()"
    tensors, eps = _words(node, to, given, "weight", "bias"), _words(node, to, given, "eps")
    values = (("op", operations()["moments"]), ("layer", layer), *to.types(node, _x(node)))
    stage = Stage("norm", "normalise.cu.jinja", values)
    return Call(stage, f"KERNEL({x}, {tensors}, {groups}, {inner}, {eps})")


BATCH_NORM = ("running_mean", "running_var", "weight", "bias", "training", "momentum", "eps")


def batch_norm(node: Node, to: Writer) -> Call:
    """Batch norm with its running statistics."""
    usual = {"training": False, "momentum": 0.1, "eps": 1e-5}
    given = {name: node.argument(k, name, usual.get(name)) for k, name in enumerate(BATCH_NORM, 1)}
    known = given["running_mean"] is not None and given["running_var"] is not None
    if not (node.attributes.get("track_running_stats", True) if node.path else known):
        raise UncoveredError("batch norm without running statistics")
    if node.path and node.attributes.get("momentum") is None:
        raise UncoveredError("batch norm with a cumulative average")
    order = ("weight", "bias", "running_mean", "running_var", "training", "momentum", "eps")
    words = _words(node, to, given, *order)
    stage = Stage("norm", "batch_norm.cu.jinja", to.types(node, _x(node)))
    return Call(stage, f"KERNEL({to.value(_x(node))}, {words})")


NAMED = {"amax": "max", "amin": "min"}
SINGLE = {"max", "min", "argmax", "argmin"}
"""Reductions along one dim alone."""
ALONG = ("sum", "mean", "prod", "max", "min", "argmax", "argmin", "logsumexp")


def reduction(node: Node, to: Writer) -> Call:
    """Reductions along some dims, or all of them; several dims go one after the other."""
    operation = operations()[NAMED.get(node.op, node.op)]
    narrow = C_TYPES.get(to.node(_x(node)).half, "")
    stage = Stage("reduction", "reduce.cu.jinja", (("op", operation), ("narrow", narrow)))
    x, dim = to.value(_x(node)), node.argument(1, "dim", node.kwargs.get("axis"))
    keep = bool(node.argument(2, "keepdim", False))
    if dim is None:
        return Call(stage, f"KERNEL({x}.reshape(-1), 0, False)")
    rank = to.rank(_x(node))
    each = dim if isinstance(dim, list | tuple) else [dim]
    dims = sorted({d % rank for d in each}, reverse=True)
    if len(dims) > 1 and node.op in SINGLE:
        raise UncoveredError(f"{node.op} over several dims")
    if len(dims) > 1 and dims == list(range(dims[0], dims[0] - len(dims), -1)):
        low = dims[-1]
        more = f".unsqueeze({low})" * (len(dims) - 1 if keep else 0)
        return Call(stage, f"KERNEL({x}.flatten({low}, {dims[0]}), {low}, {keep}){more}")
    for one in dims:
        x = f"KERNEL({x}, {one}, {keep})"
    return Call(stage, x)


def softmax(node: Node, to: Writer) -> Call:
    """Softmax and its logarithm."""
    dim = node.attributes.get("dim") if node.path else node.argument(1, "dim")
    if not isinstance(dim, int):
        raise UncoveredError("softmax without a dim")
    values = (("op", operations()[node.op]), *to.types(node, _x(node)))
    stage = Stage("softmax", "map.cu.jinja", values)
    return Call(stage, f"KERNEL({to.value(_x(node))}, {dim})")


def scan(node: Node, to: Writer) -> Call:
    """Sum or multiply up along a dim."""
    sign, start = ("*", "1.0f") if node.op == "cumprod" else ("+", "0.0f")
    values = (("op", sign), ("start", start), ("reverse", False), ("exclusive", False))
    stage = Stage("scan", "scan.cu.jinja", values)
    return Call(stage, f"KERNEL({to.value(_x(node))}, None, {to.value(node.argument(1, 'dim'))})")


def attention(node: Node, to: Writer) -> Call:
    """Scaled dot product attention, plain or causal."""
    mask, dropout = node.argument(3, "attn_mask"), node.argument(4, "dropout_p", 0.0)
    if mask is not None or dropout or node.kwargs.get("scale") is not None:
        raise UncoveredError("attention with a mask, dropout or a scale of its own")
    if node.kwargs.get("enable_gqa"):
        raise UncoveredError("attention whose heads share keys")
    causal = bool(node.argument(5, "is_causal", False))
    given = (node.argument(k, name) for k, name in enumerate(("query", "key", "value")))
    words = ", ".join(map(to.value, given)) + (", True" if causal else "")
    return Call(Stage("attention", "attention.cu.jinja", (("causal", causal),)), f"KERNEL({words})")


STAGES: dict[str, Callable[[Node, Writer], Call]] = {
    "matmul": matmul,
    **dict.fromkeys(("conv", "conv_transpose"), conv),
    **dict.fromkeys(("max_pool", "avg_pool"), pool),
    **dict.fromkeys(NORMS, norm),
    "batch_norm": batch_norm,
    **dict.fromkeys((*ALONG, *NAMED), reduction),
    **dict.fromkeys(("softmax", "log_softmax"), softmax),
    **dict.fromkeys(("cumsum", "cumprod"), scan),
    "scaled_dot_product_attention": attention,
    **dict.fromkeys(("lstm", "gru", "rnn"), recurrent),
}


MOST_CELLS = 16
"""Along an axis, of a window that is unrolled."""
MOST_REACH = {1: 32, 2: 8, 3: 8}
"""By rank: from a window's first cell to its last one along an axis, where a thread keeps all of it in registers."""

Kind = tuple[int, int, int, int, int]
"""Of windows: rank, cells along an axis, stride, dilation, and padding before a row."""


def overlapping_windows(
    rank: int, kernel: object, stride: object, dilation: object, padding: object
) -> tuple[Kind, ...]:
    """Return the kind of windows that overlap and are alike along all axes; none for others.

    Windows that share no cells gain nothing from it.
    """
    sizes = []
    for value in (kernel, stride, dilation, padding):
        each = set(value) if isinstance(value, list | tuple) else {value}
        size = each.pop()
        if each or not isinstance(size, int):
            return ()
        sizes.append(size)
    wide, step, apart, before = sizes
    reach = (wide - 1) * apart + 1
    fits = 1 < wide <= MOST_CELLS and reach <= MOST_REACH[rank]
    return ((rank, wide, step, apart, before),) if fits and step < reach else ()
