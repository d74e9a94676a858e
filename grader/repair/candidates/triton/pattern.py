"""An expression against a rewrite's pattern, and what it becomes with each name that a template's hole may stand for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import product

from grader.repair.candidates.holes import CONSTANTS
from grader.repair.candidates.triton.function import names_in, target_of
from grader.repair.candidates.triton.letters import of_one_axis
from grader.repair.candidates.triton.rewrites import Rewrite
from grader.repair.candidates.triton.scope import Scope

FORGOTTEN = 0.5
"""What the cost of a change is multiplied with where it uses a name that only its own updates use."""
NEXT = 0.12
"""What each next name of a kind adds to the cost of a change, as a share of it."""
_HOLE = re.compile(r"\{([A-Z]+)\}")
ATOMS = (ast.Name, ast.Constant, ast.Call, ast.Attribute, ast.Subscript)
Bound = dict[str, ast.expr]


def options(scope: Scope, rewrite: Rewrite, node: ast.expr) -> Iterator[tuple[str, float]]:
    """Yield what an expression may become by a rewrite, with the cost of each."""
    bound: Bound = {}
    if rewrite.role and rewrite.role not in scope.roles.get(node, ()):
        return
    if not scope.is_of(rewrite.kind, node) or not _matches(
        parse_pattern(rewrite.pattern), node, bound
    ):
        return
    letters = {letter: _factor(scope, value) for letter, value in bound.items()}
    for template in rewrite.become:
        if scope.kernel is None and "tl." in template:
            continue
        for given, factor in _fill_template(scope, node, template):
            words = template.format(**letters, **given)
            alone = bool(scope.roles.get(node)) or not is_loose(words)
            yield words if alone else f"({words})", rewrite.cost * factor


def _fill_template(
    scope: Scope, node: ast.expr, template: str
) -> Iterator[tuple[Mapping[str, str], float]]:
    """Yield names for a template's holes, and how much less likely each next one is; forgotten ones first."""
    holes = list(dict.fromkeys(_HOLE.findall(template)))
    for names in product(*(_order_fillings(scope, node, hole) for hole in holes)):
        if not all(scope.is_made_before(name, node) for _, name in names):
            continue
        factor = 1.0
        for turn, name in names:
            factor *= FORGOTTEN if name in scope.idle else 1 + NEXT * turn
        yield {hole: name for hole, (_, name) in zip(holes, names, strict=True)}, factor


def _order_fillings(scope: Scope, node: ast.expr, hole: str) -> list[tuple[int, str]]:
    """Return what may be put into a hole, in order."""
    inside = names_in(node)
    if hole == "INSIDE":
        known = [name for name in scope.known.get("INDEX", ()) if name in inside]
    elif hole == "BOUND":
        known = [one for one in scope.bounds if one not in scope.source.text(node)]
    elif hole == "TARGET":
        known = [scope.carried[node]] if node in scope.carried else []
    elif hole == "NEAR":
        known = list(_near(getattr(node, "value", 0.0)))
    else:
        known = [name for name in scope.known.get(hole, ()) if hole != "REAL" or name not in inside]
        along = of_one_axis(scope, target_of(scope.statement_of(node)))
        known.sort(key=lambda name: name not in along)
    return list(enumerate(known))


def _near(value: float) -> Iterator[str]:
    """Yield the numbers that formulas are made of and that one may have been taken for, the nearest first."""
    off = {other: abs(other - value) for other in CONSTANTS if other != value}
    close = (one for one in off if off[one] < 0.5 * abs(value) or max(one, value) < 0.01)
    yield from (repr(one) for one in sorted(close, key=off.__getitem__)[:3])


def is_loose(words: str) -> bool:
    """Whether a text needs parentheses as a part of a product."""
    return not isinstance(parse_pattern(words), ATOMS)


def _factor(scope: Scope, node: ast.expr) -> str:
    words = scope.source.text(node)
    return words if isinstance(node, ATOMS) else f"({words})"


@cache
def parse_pattern(pattern: str) -> ast.expr:
    """Return the tree of an expression."""
    return ast.parse(pattern.strip(), mode="eval").body


def _matches(pattern: ast.AST, node: ast.AST, bound: Bound) -> bool:
    """Whether an expression has a pattern's form; `bound` takes what its letters stand for."""
    if isinstance(pattern, ast.Name) and len(pattern.id) == 1:
        if not isinstance(node, ast.expr) or (pattern.id == "c" and not _is_number(node)):
            return False
        bound[pattern.id] = node
        return True
    if type(pattern) is not type(node):
        return False
    return all(_alike(value, getattr(node, name), bound) for name, value in ast.iter_fields(pattern) if name not in {"ctx", "kind"})  # fmt: skip


def _alike(pattern: object, value: object, bound: Bound) -> bool:
    if isinstance(pattern, list) and isinstance(value, list):
        return len(pattern) == len(value) and all(
            _alike(one, other, bound) for one, other in zip(pattern, value, strict=True)
        )
    if isinstance(pattern, ast.AST) and isinstance(value, ast.AST):
        return _matches(pattern, value, bound)
    return pattern == value


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in {int, float}
