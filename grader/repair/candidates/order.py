"""All small changes of a program, the likeliest first: what evidence points at before what only might be."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice, pairwise

from tree_sitter import Node

from grader.diagnose import Program
from grader.repair.candidates.candidate import Candidate, Piece, Touches
from grader.repair.candidates.evidence import Clues, origins
from grader.repair.candidates.exchanges import exchanges
from grader.repair.candidates.forwards import forwards
from grader.repair.candidates.launches import launches
from grader.repair.candidates.pattern import by_form, forms
from grader.repair.candidates.rewrites import REWRITES
from grader.repair.candidates.scope import Scope, is_target, parts, scopes
from grader.repair.candidates.sites import makes_tensor
from grader.repair.candidates.statements import statements
from grader.repair.candidates.transposed import transpose_places
from grader.repair.candidates.triton import triton_changes
from grader.source import Source
from grader.source.cuda_code import around, read_call, text
from grader.source.statements import statement

HOST = 1.3
"""What the cost of a change is multiplied with in host code, where slips are rarer."""
FORGOTTEN = 0.5
"""The same for a change that uses a variable which nothing in the function uses."""
SEVERAL = 0.4
"""What the same change at several places costs beyond the single one."""
SHORT = 2
"""Bytes up to which a text that stands in several places means nothing in common: `0`, `i`."""
LONG = 400
"""Bytes of an expression beyond which it is not replaced as a whole."""
COMPARISONS = {"<", ">", "<=", ">=", "==", "!="}
_WORD = re.compile(r"[A-Za-z_]\w*")


def candidates(
    source: Source,
    program: Program,
    workload: str = "",
    reference: str = "",
    most: int | None = None,
) -> list[Candidate]:
    """Return the small changes of a submission's CUDA texts and of its `forward`, ordered by cost, then by place.

    Only those that may matter on `workload`, where one is named, and `most` of them at most; `reference` is the task's
    text, if it has one.
    """
    clues = Clues(program, workload)
    before = origins(source.cuda, clues.lines)
    found: list[Candidate] = []
    for scope, one in _of_cuda(source, clues, reference):
        if not _changes_shape(one) or clues.wrong_shape:
            cost = one.cost * clues.likelihood(_touches_of(scope, one), one.line, before)
            found.append(replace(one, cost=cost * (HOST if scope.on_host else 1.0)))
    found += [
        one for one in triton_changes(source, clues, reference) if _is_authors(program, one.line)
    ]
    found += [one for one in forwards(source, reference) if _is_authors(program, one.line)]
    ordered = sorted(found, key=lambda one: one.cost)
    return list(islice((one for one in ordered if one.fix() is not None), most))


def _of_cuda(source: Source, clues: Clues, reference: str) -> Iterator[tuple[Scope, Candidate]]:
    """Yield the changes of each function that may be to blame."""
    every = list(scopes(source.cuda))
    host = [scope for scope in every if scope.on_host]
    for scope in host if clues.host_alone else every:
        single = list(_replace_expressions(scope))
        for one in (
            *single,
            *_together(single),
            *statements(scope),
            *exchanges(scope),
            *launches(scope),
            *transpose_places(scope, host, reference),
        ):
            yield scope, one


def _replace_expressions(scope: Scope) -> Iterator[Candidate]:
    """Yield each expression's rewrites, a text once with the least of its costs."""
    rewrites = by_form(REWRITES)
    for node in scope.expressions():
        if node.end_byte - node.start_byte > LONG or b"//" in (node.text or b"") or is_target(node):
            continue
        options: dict[str, tuple[float, Touches]] = {}
        for rewrite in (one for form in forms(node) for one in rewrites.get(form, ())):
            for words, cost in rewrite.options(scope, node):
                if cost < options.get(words, (100.0, ""))[0]:
                    options[words] = cost, rewrite.touches
        options.pop(text(node), None)
        for words, (cost, touches) in options.items():
            likely = cost * (FORGOTTEN if scope.idle.intersection(_WORD.findall(words)) else 1.0)
            yield Candidate((Piece(scope.unit, node, "replace", words),), likely, touches)


def _together(single: Sequence[Candidate]) -> Iterator[Candidate]:
    """Yield the same replacement at several places as one change: all of a function's, and all of a statement's."""
    shared: dict[tuple[str, str, int], list[Candidate]] = defaultdict(list)
    for one in single:
        piece = one.pieces[0]
        words = text(piece.node)
        if len(words) > SHORT:
            shared[words, piece.code, 0].append(one)
        shared[words, piece.code, statement(piece.node).id].append(one)
    taken: set[tuple[Piece, ...]] = set()
    for alike in shared.values():
        pieces = tuple(one.pieces[0] for one in alike)
        if len(pieces) > 1 and pieces not in taken and _apart(pieces):
            taken.add(pieces)
            yield replace(alike[0], pieces=pieces, cost=min(one.cost for one in alike) + SEVERAL)


def _apart(pieces: Sequence[Piece]) -> bool:
    ordered = sorted(pieces, key=lambda piece: piece.node.start_byte)
    return all(first.node.end_byte <= second.node.start_byte for first, second in pairwise(ordered))


def _touches_of(scope: Scope, one: Candidate) -> Touches:
    """Return what a change touches; where its kind doesn't say it, the number that it changes does."""
    if scope.on_host and one.touches in {"", "literal", "bound", "index"}:
        return "host"
    if one.touches:
        return one.touches
    node = one.pieces[0].node
    if scope.kind_of(node) != "real":
        return "bound" if _is_compared(node) else "index"
    return {"*": "factor", "/": "factor", "-": "shift", "+": "shift"}.get(parts(node)[1], "value")  # type: ignore[return-value]


def _is_compared(node: Node) -> bool:
    """Whether a number is part of what a condition compares."""
    outer = (one for one in around(node) if one.type == "binary_expression")
    return any(parts(one)[1] in COMPARISONS for one in outer)


def _changes_shape(one: Candidate) -> bool:
    """Whether a change makes a tensor of another shape."""
    made = (p for p in one.pieces if p.kind == "replace" and makes_tensor(p.node))
    return any(text(read_call(piece.node).arguments[0]) not in piece.code for piece in made)


def _is_authors(program: Program, line: int) -> bool:
    """Whether a line is the author's, and not put around an answer that is no Python."""
    return not program.submission.line_map or program.submission.sample_line(line) > 0
