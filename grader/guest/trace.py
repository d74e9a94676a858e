"""The operations of a reference module as a graph that a host can read: torch.fx, in the sandbox.

The text is untrusted and so is what comes of it: plain JSON of names, numbers and shapes.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import ModuleType
from typing import Any

import torch
from torch import fx, nn

KEPT = (
    "kernel_size", "stride", "padding", "dilation", "output_padding", "groups", "ceil_mode", "count_include_pad",
    "divisor_override", "padding_mode", "eps", "momentum", "affine", "num_groups", "normalized_shape", "training",
    "track_running_stats", "dim", "negative_slope", "alpha", "beta", "threshold", "min_val", "max_val", "lambd",
    "approximate", "inplace", "p", "keepdim", "start_dim", "end_dim", "output_size", "reduction", "margin", "delta",
    "in_features", "out_features", "return_indices", "scale_factor", "label_smoothing", "swap", "log_target",
    "elementwise_affine", "num_parameters", "num_layers", "bidirectional", "batch_first", "proj_size", "nonlinearity",
    "dropout",
)  # fmt: skip
"""Attributes of torch's modules that say what they compute."""
TEXT = 200


class Whole(fx.Tracer):  # type: ignore[misc]
    """Stops at torch's own modules; the author's are looked into."""

    def is_leaf_module(self, module: nn.Module, qualified_name: str) -> bool:  # noqa: ARG002
        """Whether a module is one operation."""
        own = type(module).__module__.startswith("torch.nn")
        return own and not isinstance(module, nn.Sequential | nn.ModuleList)


class Shapes(fx.Interpreter):  # type: ignore[misc]
    """Runs a graph on meta tensors and keeps each node's."""

    def run_node(self, n: fx.Node) -> Any:
        """Run one node."""
        result = super().run_node(n)
        n.meta["tensor_meta"] = result if isinstance(result, torch.Tensor) else None
        return result


def trace(module: ModuleType, meta: AbstractContextManager[Any]) -> dict[str, Any]:
    """Return the graph of `Model`, or why there is none: `{"nodes": [...]}` or `{"error": ...}`.

    Under `meta` every tensor is made without values, whatever device the text asks for.
    """
    names = vars(module)
    try:
        init = names["get_init_inputs"]() if "get_init_inputs" in names else []
        with torch.device("meta"), meta:
            model = (
                names["Model"](*init) if isinstance(init, list | tuple) else names["Model"](**init)
            )
            graph = _graph(model)
            shaped = fx.GraphModule(model, graph)
            inputs = names["get_inputs"]()
            _shapes(shaped, inputs)
    except Exception as error:  # noqa: BLE001 - whatever the text does is an outcome
        return {"error": f"{type(error).__name__}: {str(error)[:TEXT]}"}
    return {"nodes": [_node(node, model) for node in shaped.graph.nodes]}


def _graph(model: nn.Module) -> fx.Graph:
    """Return the operations of a model; a number that forward makes a tensor of is one of them."""
    tracer, plain = Whole(), torch.tensor

    def told(data: Any, **more: Any) -> Any:
        if not isinstance(data, bool | int | float):
            return plain(data, **more)
        named = {key: value for key, value in more.items() if key == "dtype"}
        return tracer.create_proxy("call_function", plain, (data,), named)

    torch.tensor = told
    try:
        return tracer.trace(model)
    finally:
        torch.tensor = plain


def _shapes(shaped: fx.GraphModule, inputs: Any) -> None:
    """Write each node's shape into it, where torch can tell without values."""
    placed = [v.to("meta") if isinstance(v, torch.Tensor) else v for v in inputs]
    try:
        Shapes(shaped).run(*placed)
    except Exception:  # noqa: BLE001 - shapes are a help, no more
        return


def _node(node: fx.Node, model: nn.Module) -> dict[str, Any]:
    meta = node.meta.get("tensor_meta")
    made: dict[str, Any] = {
        "name": node.name,
        "kind": node.op,
        "target": _target(node),
        "args": [_value(arg) for arg in node.args],
        "kwargs": {key: _value(value) for key, value in node.kwargs.items()},
        "shape": list(meta.shape) if hasattr(meta, "shape") else None,
        "dtype": str(meta.dtype).removeprefix("torch.") if hasattr(meta, "dtype") else None,
    }
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
