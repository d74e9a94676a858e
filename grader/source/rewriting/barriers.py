"""Fixes that put barriers where they are missing."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from grader.records import Fix
from grader.source import Unit
from grader.source.code_edits import fix
from grader.source.divergence import all_arrive
from grader.source.nodes import around
from grader.source.statements import (
    child_of,
    common_block,
    enclosing_loops,
    insert_after,
    insert_before,
)

BARRIER = "__syncthreads();"
LABEL = "meet at a barrier between the two accesses"
TURN = "meet at a barrier at the end of each turn of the loop"


def separate(unit: Unit, first: Node, second: Node) -> Iterator[Fix]:
    """Yield the ways to put a barrier between two accesses, the likeliest first.

    A barrier is inserted only where all threads arrive; one at the end of an iteration separates it from the next.
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
    """Yield a barrier at the end of the iterations of the two innermost loops around both accesses."""
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
