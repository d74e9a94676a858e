"""Recorder of a model's forward while it runs on meta tensors: torch's functions and modules as a graph.

The forward runs for real, only without values: control flow on shapes, default arguments, and the text's own functions
and libraries work as usual. Sizes remember their origin (`numbers`), so that the graph holds for other sizes as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import fx, nn
from torch.fx.node import map_aggregate
from torch.overrides import TorchFunctionMode

from grader.guest.layers import argument_names, is_leaf, own_tensors, recurrent
from grader.guest.numbers import Number, number, plain

MOST = 4000
MOVED = {"T", "mT", "H", "mH", "data"}
"""Attributes of a tensor that are tensors."""
SWAPPED = {
    "__rsub__": "sub",
    "__rdiv__": "truediv",
    "__rtruediv__": "truediv",
    "__rpow__": "pow",
    "__rmatmul__": "matmul",
    "__rfloordiv__": "floordiv",
}


class UntraceableError(Exception):
    """An operation that can't be recorded, named in the message."""


class Recorder(TorchFunctionMode):  # type: ignore[misc]
    """A graph under construction; each tensor that the forward sees is the value of a node."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.graph = fx.Graph()
        self.model = model
        self.paths = {id(module): path for path, module in model.named_modules()}
        self.owned = dict(own_tensors(model))
        self.nodes: dict[int, fx.Node | None] = {}
        self.seen: list[torch.Tensor] = []
        self.quiet = False
        self.first: fx.Node | None = None

    def run(self, inputs: Any) -> fx.Graph:
        """Call the model once and return its graph; exceptions of the text propagate."""
        with _called_as(self._module), _numbers_of(self):
            given = [self._argument(value, k) for k, value in enumerate(inputs)]
            with self:
                result = self.model(*given)
        self.graph.output(self._node_of(result))
        for node in reversed(self.graph.nodes):
            if not node.users and node.op not in {"placeholder", "output"}:
                self.graph.erase_node(node)
        return self.graph

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Record and execute one call of torch."""
        del types
        named = kwargs or {}
        if self.quiet:
            return func(*args, **named)
        with self._alone():
            return self._function(func, args, named)

    def _function(self, func: Any, args: Any, named: dict[str, Any]) -> Any:
        name = str(getattr(func, "__name__", func))
        if name == "__get__":
            return self._attribute(func, args[0])
        if name in {"size", "numel", "nelement"} and isinstance(args[0], torch.Tensor):
            return self._size(name, args, named)
        if name in {"__setitem__", "__set__"} or named.get("out") is not None:
            raise UntraceableError("it writes into a part of a tensor")
        if name == "__iter__":
            func, name, args = torch.unbind, "unbind", (args[0], 0)
            return iter(self._call(func, name, args, {}))
        if name == "multi_head_attention_forward":
            with self, _looked_into():
                self.quiet = False
                return func(*args, **named)
        if name in SWAPPED:
            return self._call(func, SWAPPED[name], args, named, swapped=True)
        return self._call(func, name, args, named)

    def _call(
        self, func: Any, name: str, args: Any, named: dict[str, Any], *, swapped: bool = False
    ) -> Any:
        given, keys = self._node_of(args), self._node_of(named)
        before = id(args[0]) if args else 0
        result = func(*map_aggregate(args, plain), **map_aggregate(named, plain))
        if not _holds_tensors(result):
            return result
        node = self._node("call_function", name, given[::-1] if swapped else given, keys)
        return self._note_results(
            result, node, changed=id(result) == before and name.rstrip("_") != name
        )

    def _module(
        self, original: Callable[..., Any], module: nn.Module, *args: Any, **named: Any
    ) -> Any:
        path = self.paths.get(id(module))
        if self.quiet or not path or not is_leaf(module):
            return original(module, *args, **named)
        with self._alone():
            given, keys = self._node_of(args), self._node_of(named)
            if isinstance(module, nn.RNNBase):
                result = recurrent(module, *args)
            else:
                result = original(module, *args, **named)
            node = self._node("call_module", path, given, keys)
            changed = bool(args) and result is args[0] and bool(getattr(module, "inplace", False))
            return self._note_results(result, node, changed=changed)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Pause recording inside the context."""
        quiet, self.quiet = self.quiet, True
        try:
            yield
        finally:
            self.quiet = quiet

    def _node(self, kind: str, target: str, args: Any, named: Any) -> fx.Node:
        if len(self.nodes) > MOST:
            raise UntraceableError(f"its forward makes more than {MOST} calls")
        words = target.replace(".", "_").strip("_") or "value"
        node = self.graph.create_node(
            kind, torch.relu if kind == "call_function" else target, tuple(args), dict(named), name=words
        )  # fmt: skip
        node.meta["target"] = target
        return node

    def _note_results(self, result: Any, node: fx.Node, *, changed: bool = False) -> Any:
        """Record the node of each tensor of a result."""
        if isinstance(result, torch.Tensor):
            node.meta["tensor"] = (tuple(map(int, result.shape)), str(result.dtype))
            if changed:
                self._outdate(result)
            self.nodes[id(result)] = node
            self.seen.append(result)
            return result
        for k, item in enumerate(result):
            if isinstance(item, torch.Tensor) or _holds_tensors(item):
                self._note_results(item, self._node("call_function", "getitem", (node, k), {}))
        return result

    def _outdate(self, changed: torch.Tensor) -> None:
        """Forget other tensors in the memory of a tensor changed in place."""
        place = changed.untyped_storage()._cdata
        for other in self.seen:
            if other is not changed and other.untyped_storage()._cdata == place:
                self.nodes[id(other)] = None

    def _argument(self, value: Any, k: int) -> Any:
        names = list(argument_names(self.model))
        if k >= len(names):
            raise UntraceableError("its forward takes any number of arguments")
        name = names[k]
        node = self.graph.placeholder(name)
        node.meta["target"] = name
        if isinstance(value, torch.Tensor):
            placed = value.to("meta")
            self.first = self.first or node
            return self._note_results(placed, node)
        return number(self.graph, node, value)

    def _node_of(self, value: Any) -> Any:
        return map_aggregate(value, self._copy_value)

    def _copy_value(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return self._of(value)
        if isinstance(value, Number):
            return value.node
        if isinstance(value, torch.device) and self.first is not None:
            return self.graph.call_function(getattr, (self.first, "device"))
        return value

    def _of(self, tensor: torch.Tensor) -> fx.Node:
        """Return a tensor's node: the result of a call, or one of the model's own."""
        if id(tensor) not in self.nodes:
            path = self.owned.get(id(tensor))
            if path is None:
                raise UntraceableError("it uses a tensor that is neither its own nor an argument")
            with self._alone():
                self._note_results(tensor, self._node("get_attr", path, (), {}))
        known = self.nodes[id(tensor)]
        if known is None:
            raise UntraceableError("a tensor is changed in place under another name")
        return known

    def _attribute(self, func: Any, tensor: Any) -> Any:
        name = func.__self__.__name__
        if name == "shape":
            return self._size("size", (tensor,), {})
        result = func(tensor)
        if name not in MOVED or not isinstance(result, torch.Tensor):
            return result
        return self._note_results(
            result, self._node("call_function", "getattr", (self._of(tensor), name), {})
        )

    def _size(self, name: str, args: Any, named: dict[str, Any]) -> Any:
        tensor, *rest = args
        of, dims = self._of(tensor), [*rest, *named.values()]
        if name != "size":
            return number(
                self.graph, self._node("call_function", "numel", (of,), {}), tensor.numel()
            )
        sizes = tuple(map(int, tensor.size()))
        wanted = range(len(sizes)) if not dims or dims[0] is None else [int(dims[0])]
        found = [
            number(self.graph, self._node("call_function", "size", (of, d), {}), sizes[d])
            for d in wanted
        ]
        return torch.Size(found) if not dims or dims[0] is None else found[0]


def _holds_tensors(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(map(_holds_tensors, value))
    return isinstance(value, torch.Tensor)


@contextmanager
def _looked_into() -> Iterator[None]:
    """Record the parts of a torch function that checks for overrides first."""
    asked = nn.functional.has_torch_function
    nn.functional.has_torch_function = lambda _tensors: False
    try:
        yield
    finally:
        nn.functional.has_torch_function = asked


@contextmanager
def _called_as(call: Callable[..., Any]) -> Iterator[None]:
    """Route every call of a module through `call`."""
    original = nn.Module.__call__

    def record_call(module: nn.Module, *args: Any, **named: Any) -> Any:
        return call(original, module, *args, **named)

    nn.Module.__call__ = record_call
    try:
        yield
    finally:
        nn.Module.__call__ = original


@contextmanager
def _numbers_of(recorder: Recorder) -> Iterator[None]:
    """Make the number attributes of the author's modules remember their path."""
    kinds = {type(module) for module in recorder.model.modules() if not is_leaf(module)}
    heads = nn.MultiheadAttention  # the only module of torch whose numbers its functions use
    own = [kind for kind in kinds if kind is heads or not kind.__module__.startswith("torch.")]

    def read(module: nn.Module, name: str) -> Any:
        value = object.__getattribute__(module, name)
        path = recorder.paths.get(id(module))
        if type(value) not in {int, float} or path is None or name not in vars(module):
            return value
        node = recorder._node("get_attr", f"{path}.{name}" if path else name, (), {})
        node.meta["number"] = value
        return number(recorder.graph, node, value)

    for kind in own:
        setattr(kind, "__getattribute__", read)  # noqa: B010 - a class of the text's own
    try:
        yield
    finally:
        for kind in own:
            del kind.__getattribute__
