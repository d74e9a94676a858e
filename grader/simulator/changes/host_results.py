"""Host code that only hands on what a kernel made: a step that its result lacks is lacking in the kernel."""

from __future__ import annotations

import ast
import re

from grader.simulator.changes.host_forms import MAKERS
from grader.source.analysis.data_flow import assignments
from grader.source.scopes import FunctionNode, dotted_name

_SCALED = ("{} / ", "2 * {}", "{}.mean()", "{}.sum()")
"""How a value is written that is scaled, or normalised."""
_LIBRARIES = frozenset({"torch", "F", "math", "np"})


def makes_up(function: FunctionNode | None, value: ast.AST, before: str, after: str) -> bool:
    """Whether a change of host code scales what a kernel made, and the host computes nothing of it itself."""
    begins = tuple(re.sub(r"\{\}", lambda _: before, one) for one in _SCALED)
    return function is not None and after.startswith(begins) and _is_made_by_kernel(function, value)


def _is_made_by_kernel(function: FunctionNode, value: ast.AST) -> bool:
    """Whether a value is memory that the host made for a kernel to fill, or what a function other than torch's returns."""
    if isinstance(value, ast.Name):
        made = [one.value for one in assignments(function, value.id)]
        return bool(made) and all(_is_empty(one) or _is_answer(function, one) for one in made)
    return _is_answer(function, value)


def _is_answer(function: FunctionNode, value: ast.AST) -> bool:
    """Whether a value is a call of something else than torch's functions and tensors' methods."""
    if not isinstance(value, ast.Call):
        return False
    root = dotted_name(value.func).partition(".")[0]
    given = {one.arg for one in function.args.args} - {"self"}
    if not root or root in _LIBRARIES | given:
        return False
    return not assignments(function, root)


def _is_empty(value: ast.expr) -> bool:
    called = value.func if isinstance(value, ast.Call) else None
    return isinstance(called, ast.Attribute) and called.attr in MAKERS
