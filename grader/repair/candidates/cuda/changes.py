"""All small changes of a submission's CUDA texts, before evidence says how likely each is."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator
from dataclasses import replace

from tree_sitter import Node

from grader.repair.candidates.alike import cheapest, together
from grader.repair.candidates.candidate import Candidate, Touches
from grader.repair.candidates.cuda.exchanges import exchanges
from grader.repair.candidates.cuda.holes import fill
from grader.repair.candidates.cuda.launches import launches
from grader.repair.candidates.cuda.rewrites import REWRITES
from grader.repair.candidates.cuda.scope import Scope, is_target, parts, scopes
from grader.repair.candidates.cuda.sites import makes_tensor
from grader.repair.candidates.cuda.statements import statements
from grader.repair.candidates.cuda.twins import twins
from grader.repair.candidates.evidence import Clues
from grader.repair.candidates.pattern import rewrite_expressions
from grader.source import Source
from grader.source.cuda_code import around, read_call, text
from grader.source.statements import statement

COMPARISONS = {"<", ">", "<=", ">=", "==", "!="}
SHORT = 2
"""Letters up to which a text that stands in several places means nothing in common: `0`, `i`."""
LONG = 400
"""Bytes of an expression beyond which it is not replaced as a whole."""
FORGOTTEN = 0.5
"""What the cost of a change is multiplied with that uses a variable which nothing in the function uses."""
_WORD = re.compile(r"[A-Za-z_]\w*(?:\.[xyzw]\b)?")


def cuda_changes(source: Source, clues: Clues) -> Iterator[tuple[Scope, Candidate]]:
    """Yield the changes of each function that may be to blame."""
    for scope in scopes(source.cuda):
        if clues.host_alone and not scope.on_host:
            continue
        rewritten = rewrite_expressions(scope, _replaceable(scope), REWRITES, fill)
        single = [_forgotten(scope, one) for one in cheapest(rewritten, _says)]
        for one in (
            *single,
            *together(single, _within),
            *twins(scope),
            *statements(scope),
            *exchanges(scope),
            *launches(scope),
        ):
            if clues.wrong_shape or not _changes_shape(one):
                yield scope, replace(one, touches=_touches(scope, one))


def _replaceable(scope: Scope) -> Iterator[Node]:
    for node in scope.expressions():
        words = node.text or b""
        if len(words) <= LONG and b"//" not in words and not is_target(node):
            yield node


def _says(one: Candidate) -> Hashable:
    piece = one.pieces[0]
    return None if piece.code == piece.old else (piece.node.id, piece.code)


def _within(one: Candidate) -> Iterator[Hashable]:
    """Yield the function, but for words that mean nothing in common, and the statement."""
    if len(one.pieces[0].old) > SHORT:
        yield 0
    yield statement(one.pieces[0].node).id


def _forgotten(scope: Scope, one: Candidate) -> Candidate:
    uses = {*scope.idle, *scope.idle_parts}.intersection(_WORD.findall(one.pieces[0].code))
    return replace(one, cost=one.cost * FORGOTTEN) if uses else one


def _changes_shape(one: Candidate) -> bool:
    """Whether a change makes a tensor of another shape."""
    made = (p for p in one.pieces if p.kind == "replace" and makes_tensor(p.node))
    return any(text(read_call(piece.node).arguments[0]) not in piece.code for piece in made)


def _touches(scope: Scope, one: Candidate) -> Touches:
    """Return what a change touches; where its kind doesn't say it, the number that it changes does."""
    if scope.on_host and one.touches in {"", "literal", "bound", "index"}:
        return "host"
    node = one.pieces[0].node
    if one.touches:
        return one.touches
    if scope.kind_of(node) != "real":
        return "bound" if _is_compared(node) else "index"
    return {"*": "factor", "/": "factor", "-": "shift", "+": "shift"}.get(parts(node)[1], "value")  # type: ignore[return-value]


def _is_compared(node: Node) -> bool:
    """Whether a number is part of what a condition compares."""
    outer = (one for one in around(node) if one.type == "binary_expression")
    return any(parts(one)[1] in COMPARISONS for one in outer)
