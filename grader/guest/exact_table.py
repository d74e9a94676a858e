"""The table of exact rules: a rule is for one operator, or for several similar ones.

A rule is given the algebra, the operator and its arguments, before the operator runs; it returns the elements of the
result, or a tuple for several results. 0 stands for no element: the value is a constant. Operators without a rule are
decomposed by torch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

ADD, SUB, MUL, DIV, ROOT, EXP, LOG = "+", "-", "*", "/", "sqrt", "exp", "log"
Rule = Callable[..., Any]
RULES: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register a function as the rule of these operators."""

    def by_name(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, function))
        return function

    return by_name


def dims_of(a: torch.Tensor, dim: Any) -> list[int]:
    """Return the dims that an operator reduces: all of them where none are given."""
    if dim is None or (not isinstance(dim, int) and not len(dim)):
        return list(range(a.dim()))
    return [d % max(a.dim(), 1) for d in ([dim] if isinstance(dim, int) else dim)]
