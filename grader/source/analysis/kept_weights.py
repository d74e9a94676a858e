"""Values that a constructor computes from weights and keeps, which later loaded weights do not reach."""

import ast
from dataclasses import dataclass

from grader.source import nodes_under
from grader.source.analysis.data_flow import depends, tainted_names
from grader.source.analysis.reference_text import last_name
from grader.source.python_code import PythonCode

STATE = ("weight", "bias", "running_mean", "running_var")
"""Prefixes of attributes with a layer's state; recurrent layers have `weight_ih_l0`."""
VIEWS = frozenset({"t", "view", "detach", "transpose", "permute", "squeeze", "unsqueeze", "expand"})
"""Calls whose result shares memory with the weight, so that later writes are visible."""


@dataclass(frozen=True)
class Kept:
    """An attribute that holds a copy: `W_sum`, made by `node` from `self.linear.weight`."""

    name: str
    node: ast.AST
    weight: str


def kept_weights(code: PythonCode) -> Kept | None:
    """Return the first attribute that the constructor computes from weights and `forward` uses."""
    maker, forward = code.method("__init__"), code.method("forward")
    if maker is None or forward is None:
        return None
    used = {part.attr for part in nodes_under(forward) if isinstance(part, ast.Attribute)}
    made = tainted_names(maker, set(), _is_state)
    weight = next((ast.unparse(part) for part in nodes_under(maker) if _is_state(part)), "")
    for node in nodes_under(maker):
        match node:
            case (
                ast.Assign(targets=[ast.Attribute(attr=name)], value=value)
                | ast.Call(
                    func=ast.Attribute(attr="register_buffer"),
                    args=[ast.Constant(value=str(name)), value, *_],
                )
            ) if name in used and depends(value, made, _is_state) and _is_copy(value):
                return Kept(name, node, weight)
    return None


def _is_state(part: ast.AST) -> bool:
    """Whether a layer's state is read: `self.fc.weight`."""
    match part:
        case ast.Attribute(value=ast.Attribute() | ast.Subscript(), attr=name):
            return name.startswith(STATE)
    return False


def _is_copy(value: ast.expr) -> bool:
    """Whether an expression is more than a view of a weight, and not a parameter that weights are loaded into."""
    calls = [last_name(part.func) for part in nodes_under(value) if isinstance(part, ast.Call)]
    computes = any(isinstance(part, ast.BinOp) for part in nodes_under(value))
    named = isinstance(value, ast.Name)
    return "Parameter" not in calls and (named or computes or not VIEWS.issuperset(calls))
