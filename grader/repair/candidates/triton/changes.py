"""The small changes of a Triton program, before evidence of its runs says how likely each is."""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations

from grader.repair.candidates.alike import cheapest, together
from grader.repair.candidates.candidate import Candidate, Touches
from grader.repair.candidates.evidence import Clues
from grader.repair.candidates.pattern import rewrite_expressions
from grader.repair.candidates.triton.forward import extension_calls
from grader.repair.candidates.triton.holes import fill
from grader.repair.candidates.triton.meaning import meaning
from grader.repair.candidates.triton.rewrites import REWRITES
from grader.repair.candidates.triton.scope import Scope, scopes
from grader.repair.candidates.triton.twins import twins, unflattened
from grader.source import Source
from grader.source.analysis.triton import launches

EXCHANGED = 0.6
"""Cost of two neighbouring arguments of a launch in the other order."""
OF_EXTENSION = 2.0
"""The same in a call of an extension: who binds a function passes what it takes."""
IN_A_TUPLE = 1.0
"""Cost of two parts of a tuple in the other order: of a grid, a shape, the strides of a block."""
APART = 0.5
"""What each argument between them adds."""


def triton_changes(source: Source, clues: Clues) -> Iterator[tuple[Scope, Candidate]]:
    """Yield the changes of a Triton program's kernels and of what launches them, each text once."""
    for scope in (one for one in scopes(source) if not (one.kernel and clues.host_alone)):
        for one in _changes(scope):
            what: Touches = one.touches if scope.kernel or one.touches == "launch" else "host"
            yield scope, replace(one, touches=what)


def _changes(scope: Scope) -> Iterator[Candidate]:
    every = (
        *rewrite_expressions(scope, scope.expressions, REWRITES, fill),
        *twins(scope),
    )
    single = cheapest(every, partial(_says, scope))
    several = together(single, lambda one: [scope.statement_of(one.pieces[0].node)])
    yield from (*single, *several, *unflattened(scope), *_exchanges(scope))


def _says(scope: Scope, one: Candidate) -> Hashable:
    """Return what the statement says after a change, what is put after it as it is; None where it says the same."""
    piece, statement = one.pieces[0], scope.statement_of(one.pieces[0].node)
    if piece.kind == "after":
        return statement, f"after: {piece.code}"
    (start, _), (a, b) = scope.source.span(statement), piece.span
    words = _head(scope, statement)
    said = meaning(words[: a - start] + piece.code + words[b - start :])
    return None if said == meaning(words) else (statement, said)


def _head(scope: Scope, statement: ast.AST) -> str:
    """Return a statement's text, of a loop or a condition what it begins with."""
    start, end = scope.source.span(statement)
    body = getattr(statement, "body", None)
    return scope.source.code[start : scope.source.span(body[0])[0] if body else end]


def _exchanges(scope: Scope) -> Iterator[Candidate]:
    """Yield launches with two tensors, or two numbers, in the other order, and tuples with two of their parts so."""
    for launch in launches(scope.source):
        if launch.host is scope.node:
            kinds = [scope.kind_of(one) or type(one).__name__ for one in launch.call.args]
            yield from _pairs(scope, launch.call.args, kinds, EXCHANGED, "launch")
    for call in extension_calls(scope):
        yield from _pairs(scope, call.args, list(map(type, call.args)), OF_EXTENSION, "host")
    targets = (to for one in scope.statements if isinstance(one, ast.Assign) for to in one.targets)
    touches: Touches = "launch" if scope.kernel is None else "index"
    for node in (*scope.expressions, *targets):
        if isinstance(node, ast.Tuple):
            yield from _pairs(scope, node.elts, [""] * len(node.elts), IN_A_TUPLE, touches)


def _pairs(
    scope: Scope, parts: Sequence[ast.expr], kinds: Sequence[object], cost: float, touches: Touches
) -> Iterator[Candidate]:
    every = list(zip(range(len(parts)), parts, kinds, strict=False))
    for (at, first, kind), (then, second, other) in combinations(every, 2):
        if kind == other and scope.source.text(first) != scope.source.text(second):
            yield scope.exchange(first, second, cost + APART * (then - at - 1), touches)
