"""The small changes of a Triton program, the likeliest first: what evidence points at before what only might be."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import combinations, product

from grader.records import Edit, Fix
from grader.repair.candidates.candidate import Candidate, Change, Touches
from grader.repair.candidates.evidence import Clues
from grader.repair.candidates.triton.rewrites import REWRITES, Rewrite
from grader.repair.candidates.triton.scope import Scope, scopes
from grader.source import Source, nodes_under
from grader.source.analysis.triton import launches

MOST = 60
"""Changes of a Triton program that are tried."""
ROUND = 15
"""Changes of a Triton program that are run before the best are looked at: each compiles its own kernels."""
EXCHANGED = 0.6
"""Cost of two neighbouring arguments of a launch in the other order."""
APART = 0.5
"""What each argument between them adds."""
FORGOTTEN = 0.5
"""What the cost of a change is multiplied with where it uses a name that only its own updates use."""
NEXT = 0.12
"""What each next name of a kind adds to the cost of a change, as a share of it."""
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
            what = touches if scope.kernel or touches == "launch" else "host"
            likely = cost * clues.likelihood(what, node.lineno, before)
            likely *= HOST if what == "host" else 1.0
            yield _change(source, node, words, likely, what)


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
            for words, cost in _options(scope, rewrite, node):
                if cost < options.get(words, (100.0, ""))[0]:
                    options[words] = cost, rewrite.touches
        options = {words: one for words, one in options.items() if not _is_same(words, node)}
        for words, (cost, touches) in options.items():
            yield node, words, cost, touches


def _is_same(words: str, node: ast.expr) -> bool:
    """Whether a text says what the expression says already."""
    return ast.unparse(_parsed(words)) == ast.unparse(node)


def _is_body(scope: Scope, node: ast.expr) -> bool:
    """Whether an expression is part of what a function does, and not of its head."""
    return node.lineno >= scope.node.body[0].lineno


def _options(scope: Scope, rewrite: Rewrite, node: ast.expr) -> Iterator[tuple[str, float]]:
    bound: Bound = {}
    role = scope.roles.get(node, "")
    if (rewrite.role and rewrite.role != role) or not _is_of(scope, rewrite.kind, node):
        return
    if not _matches(_parsed(rewrite.pattern), node, bound):
        return
    letters = {letter: _factor(scope, value) for letter, value in bound.items()}
    for template in rewrite.become:
        if scope.kernel is None and "tl." in template:
            continue
        for given, factor in _filled(scope, node, template):
            words = template.format(**letters, **given)
            alone = bool(scope.roles.get(node)) or not _is_loose(words)
            yield words if alone else f"({words})", rewrite.cost * factor


def _filled(
    scope: Scope, node: ast.expr, template: str
) -> Iterator[tuple[Mapping[str, str], float]]:
    """Yield names for a template's holes, and how much less likely each next one is; forgotten ones first."""
    holes = list(dict.fromkeys(_HOLE.findall(template)))
    for names in product(*(_ordered(scope, node, hole) for hole in holes)):
        factor = 1.0
        for turn, name in names:
            factor *= FORGOTTEN if name in scope.idle else 1 + NEXT * turn
        yield {hole: name for hole, (_, name) in zip(holes, names, strict=True)}, factor


def _ordered(scope: Scope, node: ast.expr, hole: str) -> list[tuple[int, str]]:
    """Return the names of a kind, of those inside the expression, or the kernel's bounds that it lacks."""
    inside = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    known = scope.known.get("INDEX" if hole == "INSIDE" else hole, ())
    if hole == "BOUND":
        known = tuple(one for one in scope.bounds if one not in scope.source.text(node))
    return list(enumerate(name for name in known if hole != "INSIDE" or name in inside))


def _is_of(scope: Scope, kind: str, node: ast.expr) -> bool:
    if kind == "host":
        return scope.kernel is None and node not in scope.meta
    if kind == "number":
        return scope.computes(node)
    if kind == "whole":
        return scope.kernel is not None and isinstance(getattr(node, "value", None), int)
    if kind == "real":
        return scope.kernel is not None and _is_real(scope, node)
    return not kind or (isinstance(node, ast.Name) and scope.kind_of(node) == kind)


def _is_real(scope: Scope, node: ast.expr) -> bool:
    """Whether a kernel assigns this to a name of a real number."""
    assigned = scope.kernel.assigned if scope.kernel else {}
    names = (name for name, values in assigned.items() if any(v is node for v in values))
    return any(name in scope.known["REAL"] for name in names)


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
        for (at, (first, kind)), (then, (second, other)) in combinations(enumerate(kinds), 2):
            if kind == other and scope.source.text(first) != scope.source.text(second):
                cost = EXCHANGED + APART * (then - at - 1)
                yield launch.call, _both(scope, launch.call, first, second), cost, "launch"


def _both(scope: Scope, call: ast.Call, first: ast.expr, second: ast.expr) -> str:
    """Return a call with two of its arguments exchanged."""
    start, end = scope.source.span(call)
    (a, b), (c, d) = scope.source.span(first), scope.source.span(second)
    code = scope.source.code
    return code[start:a] + code[c:d] + code[b:c] + code[a:b] + code[d:end]
