"""Fixes that put barriers where they are missing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from grader.records import Fix
from grader.source.code_edits import fix
from grader.source.cuda_code import around
from grader.source.statements import (
    child_of,
    common_block,
    enclosing_loops,
    insert_after,
    insert_before,
)

if TYPE_CHECKING:
    from tree_sitter import Node

    from grader.source import Unit

BARRIER = "__syncthreads();"
LABEL = "meet at a barrier between the two accesses"


def separate(unit: Unit, first: Node, second: Node) -> Iterator[Fix]:
    """Yield the ways to put a barrier between two accesses, the likeliest first."""
    block = common_block(first, second)
    outer = [b for b in around(second) if b.type == "compound_statement"]
    if block is None and outer:  # the first is in a function that is called before
        yield from fix(LABEL, [insert_before(unit, child_of(outer[-1], second), BARRIER)])
    blocks = [b for b in outer if block is not None and b.start_byte <= block.start_byte]
    if first.start_byte < second.start_byte:
        for here in blocks[:2]:
            if (
                not _in_function_head(here)
                and child_of(here, first).id != child_of(here, second).id
            ):
                yield from fix(LABEL, [insert_before(unit, child_of(here, second), BARRIER)])
    for loop in list(enclosing_loops(first))[:2]:
        body = loop.child_by_field_name("body")
        inside = body is not None and body.start_byte <= second.start_byte < body.end_byte
        if (
            body is None
            or not inside
            or body.type != "compound_statement"
            or not body.named_children
        ):
            continue
        yield from fix(
            "meet at a barrier at the end of each turn of the loop",
            [insert_after(unit, body.named_children[-1], BARRIER)],
        )


def _in_function_head(block: Node) -> bool:
    return block.type != "compound_statement"
