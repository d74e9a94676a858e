"""Tracing of a reference module's operations as a graph for the host.

The text is untrusted, and so is the graph: plain JSON of names, numbers and shapes.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import ModuleType
from typing import Any

import torch
from torch import fx, nn

from grader.guest.numbers import remember_numbers
from grader.guest.recorder import Recorder, UntraceableError

KEPT = (
    "kernel_size", "stride", "padding", "dilation", "output_padding", "groups", "ceil_mode", "count_include_pad",
    "divisor_override", "padding_mode", "eps", "momentum", "affine", "num_groups", "normalized_shape", "training",
    "track_running_stats", "dim", "negative_slope", "alpha", "beta", "threshold", "min_val", "max_val", "lambd",
    "approximate", "inplace", "p", "keepdim", "start_dim", "end_dim", "output_size", "reduction", "margin", "delta",
    "in_features", "out_features", "return_indices", "scale_factor", "label_smoothing", "swap", "log_target",
    "elementwise_affine", "num_parameters", "num_layers", "bidirectional", "batch_first", "proj_size", "nonlinearity",
    "dropout",
)  # fmt: skip
"""Attributes of torch's modules that determine what they compute."""
TEXT = 200


def warm_up() -> None:
    """Load torch's shape rules, which torch does at the first meta module."""
    with torch.device("meta"):
        nn.Sequential(nn.Linear(2, 2), nn.GroupNorm(1, 2))(torch.zeros(1, 2))


def trace(module: ModuleType, meta: AbstractContextManager[Any]) -> dict[str, Any]:
    """Return the graph of `Model`, or the reason why there is none: `{"nodes": [...]}` or `{"error": ...}`.

    Under `meta` every tensor is made without values, whatever device the text requests.
    """
    names = vars(module)
    try:
        model = _make_model(names, meta)
        with torch.device("meta"), meta, remember_numbers(names):
            graph = Recorder(model).run(names["get_inputs"]())
    except UntraceableError as error:
        return {"error": str(error)}
    except Exception as error:  # noqa: BLE001 - whatever the text does is an outcome
        return {"error": f"{type(error).__name__}: {str(error)[:TEXT]}"}
    return {"nodes": [_node(node, model) for node in graph.nodes]}


def _make_model(names: dict[str, Any], meta: AbstractContextManager[Any]) -> nn.Module:
    """Return the model without values; a constructor that reads values runs with values first."""

    def make_model() -> nn.Module:
        init = names["get_init_inputs"]() if "get_init_inputs" in names else []
        return names["Model"](*init) if isinstance(init, list | tuple) else names["Model"](**init)

    try:
        with torch.device("meta"), meta:
            return make_model()
    except (RuntimeError, NotImplementedError):
        return make_model().to("meta")


def _node(node: fx.Node, model: nn.Module) -> dict[str, Any]:
    shape, dtype = node.meta.get("tensor", (None, None))
    made: dict[str, Any] = {
        "name": node.name,
        "kind": node.op,
        "target": str(node.meta.get("target") or _target(node))[:TEXT],
        "args": [_value(arg) for arg in node.args],
        "kwargs": {key: _value(value) for key, value in node.kwargs.items()},
        "shape": None if shape is None else list(shape),
        "dtype": None if dtype is None else dtype.removeprefix("torch."),
    }
    if "number" in node.meta:
        made["number"] = node.meta["number"]
    if node.op == "call_module":
        inner = model.get_submodule(str(node.target))
        made["module"] = type(inner).__name__
        made["attributes"] = {
            key: _value(getattr(inner, key)) for key in KEPT if hasattr(inner, key)
        }
        made["tensors"] = [key for key, value in inner.named_parameters(recurse=False)]
    return made


def _target(node: fx.Node) -> str:
    if isinstance(node.target, str):
        return node.target
    return str(getattr(node.target, "__name__", node.target))[:TEXT]


def _value(value: Any) -> Any:
    if isinstance(value, fx.Node):
        return {"node": value.name}
    if isinstance(value, bool | int | float | str) or value is None:
        return value
    if isinstance(value, list | tuple):
        return [_value(item) for item in value]
    if value is Ellipsis:
        return {"ellipsis": True}
    if isinstance(value, slice):
        return {"slice": [_value(value.start), _value(value.stop), _value(value.step)]}
    return {"text": str(value)[:TEXT]}
