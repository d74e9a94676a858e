"""A traced module's graph as reported by the guest, with checked names, numbers and shapes."""

from __future__ import annotations

import keyword
import math
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

MOST = 2000
_NAME = re.compile(r"[A-Za-z_]\w{0,80}", re.ASCII)
_PATH = re.compile(r"[A-Za-z_]\w*(\.\w+)*", re.ASCII)
KINDS = {"placeholder", "call_function", "call_method", "call_module", "get_attr", "output"}


class UncoveredError(ValueError):
    """No family covers a graph; the message says which operation, and why."""


@dataclass(frozen=True)
class Ref:
    """The value of another node."""

    name: str


class Words(str):
    """An argument given as Python text, such as `torch.float32`."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Return the text."""
        return str(self)


@dataclass(frozen=True)
class Node:
    """One operation."""

    name: str
    op: str
    """`relu` for `nn.ReLU`, `F.relu`, `torch.relu`, `x.relu()` and `relu_` alike; `placeholder`, `output`."""
    args: tuple[Any, ...] = ()
    """Positional arguments; `Ref` where another node's value goes in."""
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    path: str = ""
    """Where a module or attribute lies in the model: `layers.0.conv`; a placeholder's own name."""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    module: str = ""
    """The class of the called module."""
    tensors: tuple[str, ...] = ("weight", "bias")
    """The module's own parameters."""
    shape: tuple[int, ...] | None = None
    dtype: str | None = None
    half: str = ""
    """`float16` or `bfloat16` where the reference has that; `dtype` says how it is computed here: float32."""
    number: float | None = None
    """The value of an attribute that is a number."""

    def argument(self, index: int, name: str, default: Any = None) -> Any:
        """Return an argument that may be given by position, by name, or as a module's attribute."""
        if len(self.args) > index:
            return self.args[index]
        return self.kwargs.get(name, self.attributes.get(name, default))

    @property
    def own(self) -> str:
        """Expression of its module or attribute in the model: `self.layers[0].conv`."""
        return re.sub(r"\.(\d+)(?=\.|$)", r"[\1]", f"self.{self.path}")

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """Names of the input nodes."""
        return tuple(dict.fromkeys(ref.name for ref in refs((*self.args, *self.kwargs.values()))))


@dataclass(frozen=True)
class Graph:
    """The operations in order."""

    nodes: tuple[Node, ...]

    def node(self, name: str) -> Node:
        """Return a node by name."""
        return next(node for node in self.nodes if node.name == name)

    def users(self, name: str) -> tuple[Node, ...]:
        """Return the nodes that use a value."""
        return tuple(node for node in self.nodes if name in node.inputs)


def refs(value: Any) -> Iterable[Ref]:
    """Yield the references in an argument."""
    if isinstance(value, Ref):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from refs(item)
    elif isinstance(value, slice):
        yield from refs([value.start, value.stop, value.step])


def read_graph(told: Any) -> Graph:
    """Return the graph of a guest's answer.

    Raises UncoveredError where the module could not be traced or the answer makes no sense.
    """
    if not isinstance(told, dict) or "nodes" not in told:
        why = told.get("error", "no answer") if isinstance(told, dict) else "no answer"
        raise UncoveredError(f"it can't be traced: {str(why)[:200]}")
    if not isinstance(told["nodes"], list) or len(told["nodes"]) > MOST:
        raise UncoveredError("the graph is too large")
    try:
        nodes = tuple(_node(item) for item in told["nodes"])
    except (KeyError, TypeError, AttributeError) as error:
        raise UncoveredError("the graph makes no sense") from error
    known = {node.name for node in nodes}
    if any(name not in known for node in nodes for name in node.inputs):
        raise UncoveredError("the graph makes no sense")
    return Graph(_with_numbers(nodes))


def _with_numbers(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """Return the nodes with the values of the model's own numbers where these are no sizes."""
    known = {node.name: node.number for node in nodes if node.number is not None}

    def at(value: Any) -> Any:
        if isinstance(value, Ref):
            return known.get(value.name, value)
        if isinstance(value, list | tuple):
            return type(value)(at(item) for item in value)
        return value

    def read(node: Node) -> Node:
        if node.op in SIZED and (node.shape is None or node.op not in NUMERIC):
            return node
        return replace(node, args=at(node.args), kwargs={k: at(v) for k, v in node.kwargs.items()})

    return tuple(map(read, nodes))


def _node(item: dict[str, Any]) -> Node:
    name, kind, target = item["name"], item["kind"], item["target"]
    if not _NAME.fullmatch(name) or keyword.iskeyword(name) or kind not in KINDS:
        raise KeyError(name)
    path = target if kind in {"call_module", "get_attr", "placeholder"} else ""
    if path and not _PATH.fullmatch(path):
        raise KeyError(path)
    shape, dtype = item.get("shape"), item.get("dtype")
    half = dtype if dtype in {"float16", "bfloat16"} and kind != "get_attr" else ""
    return Node(
        name=name,
        op=operation(item.get("module") or target) if kind.startswith("call_") else kind,
        args=tuple(_value(value) for value in item["args"]),
        kwargs={str(key): _value(value) for key, value in item["kwargs"].items()},
        path=path,
        attributes=_attributes(item.get("attributes", {})),
        module=str(item.get("module") or ""),
        tensors=tuple(str(name) for name in item.get("tensors", ("weight", "bias"))),
        shape=tuple(int(size) for size in shape) if isinstance(shape, list) else None,
        dtype="float32" if half else dtype,
        half=half,
        number=_number(item.get("number")),
    )


def _attributes(told: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes that are numbers and words."""
    plain = {str(key): value for key, value in told.items() if not _is_text(value)}
    return {key: _value(value) for key, value in plain.items()}


def _is_text(value: Any) -> bool:
    return isinstance(value, dict) and "text" in value


def _number(value: Any) -> float | None:
    return value if isinstance(value, int | float) and math.isfinite(value) else None


def operation(target: str) -> str:
    """Return the plain name of an operation: `conv_transpose2d` for `ConvTranspose2d`, `add` for `iadd`."""
    words = target.strip("_")
    if re.match(r"[A-Z]", words):
        words = re.sub(
            r"(?<=[a-z0-9])(?=[A-Z])", "_", re.sub("LogSoftmax", "Log_Softmax", words)
        ).lower()
    if words[-2:] in {"1d", "2d", "3d"} and words[:-2] in RANKED:
        words = words[:-2]
    return ALIASES.get(words, words)


def _value(value: Any) -> Any:
    if isinstance(value, dict):
        if "node" in value:
            return Ref(str(value["node"]))
        if "ellipsis" in value:
            return ...
        if re.fullmatch(
            r"torch\.(float|double|half|bfloat16|bool|int|long|u?int\d+|float\d+)",
            str(value.get("text")),
        ):
            return Words(str(value["text"]))
        if str(value.get("text")) in {"<class 'bool'>", "<class 'float'>", "<class 'int'>"}:
            return Words(str(value["text"]).split("'")[1])
        if "slice" in value:
            return slice(*(_value(part) for part in value["slice"]))
        raise UncoveredError(
            f"an argument is of a kind that isn't known: {str(value.get('text'))[:60]}"
        )
    return [_value(item) for item in value] if isinstance(value, list) else value


_TABLE = tomllib.loads(Path(__file__).with_name("torch_names.toml").read_text("utf-8"))
RANKED, NUMERIC, MOVES = (frozenset(_TABLE[name]) for name in ("ranked", "numeric", "moves"))
SIZED = NUMERIC.union(_TABLE["sized"])
LAYOUT, VIEWS, RENAMINGS, RANDOM = (frozenset(_TABLE[name]) for name in ("layout", "views", "renamings", "random"))  # fmt: skip
FUNCTIONS = {name: f"torch.{name}" for name in _TABLE["own"]} | {name: f"torch.nn.functional.{name}" for name in _TABLE["functional"]}  # fmt: skip
ALIASES: dict[str, str] = _TABLE["aliases"]
