"""The small changes of a Triton program, the likeliest first: what evidence points at before what only might be."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from itertools import combinations, product
from typing import TYPE_CHECKING

from grader.records import Edit, Fix
from grader.repair.candidates.candidate import Candidate, Change, Touches
from grader.repair.candidates.triton.rewrites import REWRITES, Rewrite
from grader.repair.candidates.triton.scope import Scope, scopes
from grader.source import nodes_under
from grader.source.analysis.triton import launches

if TYPE_CHECKING:
    from grader.repair.candidates.evidence import Clues
    from grader.source import Source

MOST = 60
"""Changes of a Triton program that are tried."""
ROUND = 15
"""Changes of a Triton program that are run before the best are looked at: each compiles its own kernels."""
EXCHANGED = 1.5
"""Cost of two arguments of a launch in the other order."""
HOST = 1.2
"""What the cost of a change of host code is multiplied with, where slips are rarer."""
_HOLE = re.compile(r"\{([A-Z]+)\}")
_ATOMS = (ast.Name, ast.Constant, ast.Call, ast.Attribute, ast.Subscript)
Bound = dict[str, ast.expr]


def triton_changes(source: Source, clues: Clues) -> Iterator[Candidate]:
    """Yield the changes of a Triton program's kernels and of what launches them, each text once at the least cost."""
    before = _origins(source, clues)
    for scope in scopes(source):
        if scope.kernel and clues.host_alone:
            continue
        changes = (*_rewritten(scope), *_exchanged(scope))
        for node, words, cost, touches in changes:
            what = touches if scope.kernel else "host"
            likely = cost * clues.likelihood(what, node.lineno, before)
            yield _change(source, node, words, likely * (1.0 if scope.kernel else HOST), what)


def _change(source: Source, node: ast.expr, words: str, cost: float, touches: Touches) -> Change:
    start, end = source.span(node)
    label = f"line {node.lineno}: `{words}` in the place of `{source.code[start:end]}`"
    edit = Edit(start=start, end=end, text=words)
    return Change((), cost, touches, Fix(label=label, edits=(edit,)), node.lineno)


def _origins(source: Source, clues: Clues) -> frozenset[int]:
    """Return the lines that assign what a suspect line uses."""
    names = {n.id for n in source.walk(ast.Name) if n.lineno in clues.lines}
    stored = (n for n in source.walk(ast.Name) if isinstance(n.ctx, ast.Store) and n.id in names)
    return frozenset(node.lineno for node in stored) - clues.lines


def _rewritten(scope: Scope) -> Iterator[tuple[ast.expr, str, float, Touches]]:
    for node in nodes_under(scope.node):
        if not isinstance(node, ast.expr) or isinstance(getattr(node, "ctx", None), ast.Store):
            continue
        if not _is_body(scope, node):
            continue
        options: dict[str, tuple[float, Touches]] = {}
        for rewrite in REWRITES:
            for words in _options(scope, rewrite, node):
                if rewrite.cost < options.get(words, (100.0, ""))[0]:
                    options[words] = rewrite.cost, rewrite.touches
        options.pop(scope.source.text(node), None)
        for words, (cost, touches) in options.items():
            yield node, words, cost, touches


def _is_body(scope: Scope, node: ast.expr) -> bool:
    """Whether an expression is part of what a function does, and not of its head."""
    return node.lineno >= scope.node.body[0].lineno


def _options(scope: Scope, rewrite: Rewrite, node: ast.expr) -> Iterator[str]:
    bound: Bound = {}
    role = scope.roles.get(node, "")
    if (rewrite.role and rewrite.role != role) or not _is_of(scope, rewrite.kind, node):
        return
    if not _matches(_parsed(rewrite.pattern), node, bound):
        return
    for template in rewrite.become:
        if scope.kernel is None and "tl." in template:
            continue
        holes = list(dict.fromkeys(_HOLE.findall(template)))
        for names in product(*(scope.known.get(hole, ()) for hole in holes)):
            given = dict(zip(holes, names, strict=True))
            given |= {letter: _factor(scope, value) for letter, value in bound.items()}
            words = template.format(**given)
            yield words if _stands_alone(scope, node) or not _is_loose(words) else f"({words})"


def _is_of(scope: Scope, kind: str, node: ast.expr) -> bool:
    if kind == "host":
        return scope.kernel is None
    if kind == "real":
        return scope.kernel is not None and _is_real(scope, node)
    return not kind or (isinstance(node, ast.Name) and scope.kind_of(node) == kind)


def _is_real(scope: Scope, node: ast.expr) -> bool:
    """Whether a kernel assigns this to a name of a real number."""
    assigned = scope.kernel.assigned if scope.kernel else {}
    names = (name for name, values in assigned.items() if any(v is node for v in values))
    return any(name in scope.known["REAL"] for name in names)


def _stands_alone(scope: Scope, node: ast.expr) -> bool:
    return bool(scope.roles.get(node))


def _is_loose(words: str) -> bool:
    return not isinstance(ast.parse(words, mode="eval").body, _ATOMS)


def _factor(scope: Scope, node: ast.expr) -> str:
    words = scope.source.text(node)
    return words if isinstance(node, _ATOMS) else f"({words})"


@cache
def _parsed(pattern: str) -> ast.expr:
    return ast.parse(pattern, mode="eval").body


def _matches(pattern: ast.AST, node: ast.AST, bound: Bound) -> bool:
    """Whether an expression has a pattern's form; `bound` takes what its letters stand for."""
    if isinstance(pattern, ast.Name) and len(pattern.id) == 1:
        if not isinstance(node, ast.expr) or (pattern.id == "c" and not _is_number(node)):
            return False
        bound[pattern.id] = node
        return True
    if type(pattern) is not type(node):
        return False
    if isinstance(pattern, ast.Call) and isinstance(node, ast.Call) and node.keywords:
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


def _exchanged(scope: Scope) -> Iterator[tuple[ast.expr, str, float, Touches]]:
    """Yield launches with two tensors, or two numbers, in the other order."""
    for launch in launches(scope.source):
        if launch.host is not scope.node:
            continue
        kinds = [(one, scope.kind_of(one) or type(one).__name__) for one in launch.call.args]
        for (first, kind), (second, other) in combinations(kinds, 2):
            if kind == other and scope.source.text(first) != scope.source.text(second):
                yield from _both(scope, launch.call, first, second)


def _both(
    scope: Scope, call: ast.Call, first: ast.expr, second: ast.expr
) -> Iterator[tuple[ast.expr, str, float, Touches]]:
    """Yield a call with two of its arguments exchanged."""
    start, end = scope.source.span(call)
    (a, b), (c, d) = scope.source.span(first), scope.source.span(second)
    code = scope.source.code
    yield call, code[start:a] + code[c:d] + code[b:c] + code[a:b] + code[d:end], EXCHANGED, "launch"
