"""Host code that only passes a kernel's result on, where a missing step is missing in the kernel."""

from __future__ import annotations

import ast
import re

from grader.simulator.changes.host_forms import MAKERS
from grader.source.analysis.data_flow import assignments, bound_names
from grader.source.scopes import FunctionNode, dotted_name

_SCALED = ("{} / ", "2 * {}", "{}.mean()", "{}.sum()")
"""Patterns of scaled or normalised values."""
_LIBRARIES = frozenset({"torch", "F", "math", "np"})


def makes_up(function: FunctionNode | None, value: ast.AST, before: str, after: str) -> bool:
    """Whether a change of host code scales a kernel's result that the host itself doesn't compute with."""
    begins = tuple(re.sub(r"\{\}", lambda _: before, one) for one in _SCALED)
    return function is not None and after.startswith(begins) and _is_made_by_kernel(function, value)


def _is_made_by_kernel(function: FunctionNode, value: ast.AST) -> bool:
    """Whether a value is memory allocated for a kernel's output, or the result of a function outside torch."""
    if isinstance(value, ast.Name):
        made = [
            given
            for node in ast.walk(function)
            if isinstance(node, ast.stmt)
            for name, given in bound_names(node)
            if name == value.id
        ]
        return bool(made) and all(_is_empty(one) or _is_answer(function, one) for one in made)
    return _is_answer(function, value)


def _is_answer(function: FunctionNode, value: ast.AST) -> bool:
    """Whether a value is a call other than of torch's functions and tensors' methods."""
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
