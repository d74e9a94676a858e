"""All small changes of a program, the likeliest first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from grader.diagnose import Program
from grader.repair.variants import sizes
from grader.repair.variants.blas import row_major
from grader.repair.variants.divided import divided
from grader.repair.variants.exchange import exchanged
from grader.repair.variants.forwards import forwards
from grader.repair.variants.gathers import gathered
from grader.repair.variants.guards import guarded
from grader.repair.variants.idle import WORD, idle_names
from grader.repair.variants.launches import launches
from grader.repair.variants.moved import moved, turned
from grader.repair.variants.operators import OPERATORS
from grader.repair.variants.origins import origins
from grader.repair.variants.sites import Scope, expressions, is_target, scopes
from grader.repair.variants.stores import stores
from grader.repair.variants.tiles import tiles
from grader.repair.variants.together import together
from grader.repair.variants.variant import Piece, Variant
from grader.source.cuda_code import text

if TYPE_CHECKING:
    from tree_sitter import Node

    from grader.records import Evaluation
    from grader.source import Source

SUSPECT = 0.5
"""What the cost of a change is multiplied with on a line that evidence or a finding names."""
ORIGIN = 0.65
"""The same on a line that declares what such a line uses."""
HOST = 1.3
"""The same for host code, where slips are rarer."""
FORGOTTEN = 0.5
"""The same for a change that uses a variable which nothing in the function uses."""
LONG = 400
"""Bytes of an expression beyond which it is not replaced as a whole."""


def candidates(
    source: Source, program: Program, workload: str = "", reference: str = ""
) -> list[Variant]:
    """Return the variants of a submission's CUDA texts and of its `forward`, ordered by cost, then by place.

    Only those that may matter on `workload`, where one is named; `reference` is the task's text, if it has one.
    """
    lines = _suspect_lines(program)
    before = origins(source.cuda, lines)
    wrong_shape = _wrong_shape(program)
    found: list[tuple[float, int, Variant]] = []
    every = list(scopes(source.cuda))
    host = [scope for scope in every if scope.function.runs == "host"]
    of_the_host = _nothing_ran(program.evaluation, workload) or _only_shapes(program, workload)
    for scope in every:
        if of_the_host and scope.function.runs != "host":
            continue
        single = list(_replaced(scope))
        for variant in (
            *single,
            *together(single),
            *_statements(scope),
            *exchanged(scope),
            *launches(scope),
            *moved(scope),
            *turned(scope),
            *stores(scope),
            *tiles(scope),
            *divided(scope),
            *row_major(scope),
            *gathered(scope, host, reference),
        ):
            cost = variant.cost * (HOST if scope.function.runs == "host" else 1.0)
            cost *= SUSPECT if variant.line in lines else 1.0
            cost *= ORIGIN if variant.line in before else 1.0
            if _changes_shape(variant):
                if not wrong_shape:
                    continue
                cost *= SUSPECT
            made = Variant(variant.pieces, cost)
            if made.fix() is not None:
                found.append((cost, len(found), made))
    own = (made for made in forwards(source, reference) if _written(program, made.line))
    found += [(made.cost, len(found) + at, made) for at, made in enumerate(own)]
    return [variant for _, _, variant in sorted(found, key=lambda item: item[:2])]


def _written(program: Program, line: int) -> bool:
    """Whether a line is the author's, and not put around an answer that is no Python."""
    return not program.submission.line_map or program.submission.sample_line(line) > 0


def _nothing_ran(evaluation: Evaluation, workload: str) -> bool:
    """Whether host code or Python gave up before any kernel began: no device code is to blame."""
    runs = [run for run in evaluation.runs if not workload or run.workload == workload]
    ended = [run for run in runs if run.status == "raised"]
    return bool(ended) and not any(run.launches for run in runs)


def _wrong_shape(program: Program) -> bool:
    mismatches = (comparison.mismatch for comparison in program.evaluation.comparisons)
    return any(mismatch is not None and mismatch.kind == "shape" for mismatch in mismatches)


def _only_shapes(program: Program, workload: str) -> bool:
    """Whether all that is wrong is the shape of the result, which no kernel decides."""
    found = [c for c in program.evaluation.comparisons if not workload or c.workload == workload]
    return bool(found) and all(c.mismatch and c.mismatch.kind == "shape" for c in found)


def _changes_shape(variant: Variant) -> bool:
    return any(sizes.other_shape(piece.node, piece.text) for piece in variant.pieces)


def _suspect_lines(program: Program) -> set[int]:
    places = [finding.place for finding in program.findings if finding.severity == "error"]
    places += [e.place for run in program.evaluation.runs for e in run.evidence]
    return {place.line for place in places if place is not None}


def _replaced(scope: Scope) -> Iterator[Variant]:
    for node in expressions(scope):
        if node.end_byte - node.start_byte > LONG or b"//" in (node.text or b"") or is_target(node):
            continue
        seen = {text(node)}
        for operator in OPERATORS:
            for new, cost in operator(scope, node):
                if new not in seen:
                    seen.add(new)
                    forgotten = idle_names(scope).intersection(WORD.findall(new))
                    likely = cost * (FORGOTTEN if forgotten else 1.0)
                    yield Variant((Piece(scope.unit, node, "replace", new),), likely)


def _statements(scope: Scope) -> Iterator[Variant]:
    """Yield barriers before statements, and guards of stores."""
    if scope.function.runs == "host":
        return
    shared = bool(scope.function.shared) or "__shared__" in text(scope.function.body)
    for node in expressions(scope):
        if node.parent is None or node.parent.type != "compound_statement":
            continue
        if not node.type.endswith("statement"):
            continue
        if shared and not _is_barrier(node):
            yield Variant((Piece(scope.unit, node, "before", "__syncthreads();"),), 2.0)
        yield from guarded(scope, node)


def _is_barrier(node: Node) -> bool:
    return text(node).startswith("__syncthreads")
