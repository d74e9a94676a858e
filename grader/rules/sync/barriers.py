"""Fixes that put barriers where they are missing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from grader.records import Fix
from grader.source.code_edits import fix
from grader.source.cuda_code import around, cuda_code, text
from grader.source.divergence import all_arrive
from grader.source.statements import (
    child_of,
    common_block,
    enclosing_loops,
    insert_after,
    insert_before,
    simple_statement,
)

if TYPE_CHECKING:
    from tree_sitter import Node

    from grader.records import Evidence
    from grader.source import Source, Unit

BARRIER = "__syncthreads();"
LABEL = "meet at a barrier between the two accesses"
TURN = "meet at a barrier at the end of each turn of the loop"
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
        if simple_statement(first) == simple_statement(second):
            yield from _by_one_thread(unit, second)
        yield from separate(unit, first, second)


def shared_use(unit: Unit, line: int) -> Node | None:
    """Return where device code uses a shared array on a line, else the first name that it uses there."""
    code = cuda_code(unit)
    shared = {array.name for function in unit.functions for array in function.shared}
    here = [
        node
        for node in code.of("identifier")
        if unit.place(node).line == line and code.in_device_code(node)
    ]
    named = [node for node in here if text(node) in shared]
    return next(iter((*named, *here)), None)


def _by_one_thread(unit: Unit, node: Node) -> Iterator[Fix]:
    """Let one thread store what all store: only where the target is a single shared value."""
    own = simple_statement(node)
    inner = own.named_children[0] if own.named_children else None
    target = inner.child_by_field_name("left") if inner is not None else None
    shared = {array.name for function in unit.functions for array in function.shared}
    if own.type == "expression_statement" and target is not None and text(target) in shared:
        edit = unit.edit(own.start_byte, own.start_byte, f"if ({ONE}) ")
        yield from fix(f"let one thread store `{text(target)}`", [edit])


def separate(unit: Unit, first: Node, second: Node) -> Iterator[Fix]:
    """Yield the ways to put a barrier between two accesses, the likeliest first.

    A barrier stands only where all threads arrive; one in a loop's turn keeps its accesses from the next turn's.
    """
    block = common_block(first, second)
    outer = [one for one in around(second) if one.type == "compound_statement"]
    if block is None and outer:  # the first is in a function that is called before
        yield from fix(LABEL, [insert_before(unit, child_of(outer[-1], second), BARRIER)])
    if block is not None and first.start_byte < second.start_byte and all_arrive(block):
        here = child_of(block, second)
        if child_of(block, first).id != here.id:
            yield from fix(LABEL, [insert_before(unit, here, BARRIER)])
    yield from _each_turn(unit, first, second)


def _each_turn(unit: Unit, first: Node, second: Node) -> Iterator[Fix]:
    """Yield a barrier at the end of the turns of the loops that hold both accesses, the innermost two."""
    bodies = (loop.child_by_field_name("body") for loop in enclosing_loops(first))
    both = [
        body
        for body in bodies
        if body is not None
        and body.type == "compound_statement"
        and body.named_children
        and body.start_byte <= second.start_byte < body.end_byte
        and all_arrive(body)
    ]
    for body in both[:2]:
        yield from fix(
            TURN,
            [insert_after(unit, body.named_children[-1], BARRIER)],
        )
