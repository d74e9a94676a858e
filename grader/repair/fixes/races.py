"""Fixes of races that runs showed, from their two lines alone: a barrier between them, or one thread that stores."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from grader.records import Evidence, Fix
from grader.repair.fixes.maker import FixMaker, of_proofs
from grader.source import Source, Unit
from grader.source.analysis.races import of_one_warp, shared_use
from grader.source.code_edits import fix
from grader.source.cuda_code import text
from grader.source.rewriting.barriers import separate
from grader.source.statements import enclosing_loops, insert_before, simple_statement, statement

ONE = "threadIdx.x == 0 && threadIdx.y == 0 && threadIdx.z == 0"


def of_the_race(source: Source, item: Evidence) -> Iterator[Fix]:
    """Yield the fixes of a race that a run showed, from its two lines alone, the likeliest first."""
    if item.place is None or not item.related:
        return
    for unit in source.cuda:
        first = shared_use(unit, item.related[0].line)
        second = shared_use(unit, item.place.line)
        if first is None or second is None:
            continue
        if of_one_warp(source, [item]):
            meet = insert_before(unit, statement(second), "__syncwarp();")
            yield from fix("let the warp meet before the access", [meet])
            continue
        if simple_statement(first) == simple_statement(second):
            yield from _by_one_thread(unit, second)
        if not set(enclosing_loops(first)) & set(enclosing_loops(second)):
            first, second = sorted((first, second), key=lambda use: use.start_byte)
        yield from separate(unit, first, second)


def _by_one_thread(unit: Unit, node: Node) -> Iterator[Fix]:
    """Let one thread store what all store: only where the target is a single shared value."""
    own = simple_statement(node)
    inner = own.named_children[0] if own.named_children else None
    target = inner.child_by_field_name("left") if inner is not None else None
    shared = {array.name for function in unit.functions for array in function.shared}
    if own.type == "expression_statement" and target is not None and text(target) in shared:
        edit = unit.edit(own.start_byte, own.start_byte, f"if ({ONE}) ")
        yield from fix(f"let one thread store `{text(target)}`", [edit])


FIX = FixMaker(codes=("SYN002",), propose=of_proofs(of_the_race))
