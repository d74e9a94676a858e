"""What a constructor computes from weights and keeps: weights that come later do not reach it."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from grader.source import nodes_under
from grader.source.analysis.reference_text import last_name

READ = ("weight", "bias", "running_mean", "running_var")
"""How the attributes begin that hold a layer's state; recurrent layers say `weight_ih_l0`."""
VIEWS = frozenset({"t", "view", "detach", "transpose", "permute", "squeeze", "unsqueeze", "expand"})
"""Calls that share memory with the weight: what is written into it later is seen through them."""
MEASURES = frozenset({"shape", "size", "numel", "dim", "ndim", "dtype", "device", "stride"})


@dataclass(frozen=True)
class Kept:
    """An attribute that holds a copy: `W_sum`, made by `node` from `self.linear.weight`."""

    name: str
    node: ast.AST
    weight: str


def kept_weights(model: ast.ClassDef) -> Kept | None:
    """Return the first attribute that the constructor computes from weights and `forward` uses."""
    methods = {part.name: part for part in model.body if isinstance(part, ast.FunctionDef)}
    maker, forward = methods.get("__init__"), methods.get("forward")
    if maker is None or forward is None:
        return None
    used = {part.attr for part in nodes_under(forward) if isinstance(part, ast.Attribute)}
    return next((kept for kept in _kept_by(maker) if kept.name in used), None)


def _kept_by(maker: ast.FunctionDef) -> Iterator[Kept]:
    local: dict[str, str] = {}
    for node in nodes_under(maker):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if weight := _copied_weight(
                value, local
            ):
                local[name] = weight
            case ast.Assign(
                targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)], value=value
            ) if weight := _copied_weight(value, local):
                yield Kept(name, node, weight)
            case ast.Call(
                func=ast.Attribute(attr="register_buffer"),
                args=[ast.Constant(value=str(name)), value, *_],
            ) if weight := _copied_weight(value, local):
                yield Kept(name, node, weight)


def _copied_weight(value: ast.expr, local: dict[str, str]) -> str:
    """Return the weight that an expression computes something new from; empty if none."""
    if isinstance(value, ast.Name):
        return local.get(value.id, "")
    if isinstance(value, ast.Call) and last_name(value.func).endswith(("Parameter", "_like")):
        return ""
    inside = nodes_under(value)
    measured = {
        id(part.value)
        for part in inside
        if isinstance(part, ast.Attribute) and part.attr in MEASURES
    }
    read = next((part for part in inside if _reads(part) and id(part) not in measured), None)
    if read is not None and _computes(value):
        return ast.unparse(read)
    names = (part.id for part in inside if isinstance(part, ast.Name))
    return next((local[name] for name in names if name in local), "")


def _reads(part: ast.AST) -> bool:
    match part:
        case ast.Attribute(value=ast.Attribute() | ast.Subscript(), attr=name):
            return name.startswith(READ)
    return False


def _computes(value: ast.expr) -> bool:
    return any(
        isinstance(part, ast.BinOp)
        or (isinstance(part, ast.Call) and last_name(part.func) not in VIEWS)
        for part in nodes_under(value)
    )
