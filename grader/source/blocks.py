"""Lines of device code that run whenever a given line does."""

from collections.abc import Iterator

from tree_sitter import Node

from grader.records import Place
from grader.source import Source, Unit
from grader.source.cuda_code import descendants

BLOCK = "compound_statement"


def beside(source: Source, place: Place) -> frozenset[int]:
    """Return the first lines of the statements in the innermost block around a place.

    For a line that became no instruction of its own (a declaration, what the compiler folded): where
    those beside it ran, so did it.
    """
    blocks = [pair for unit in source.cuda for pair in _around(unit, place)]
    if not blocks:
        return frozenset()
    unit, block = min(blocks, key=lambda pair: pair[1].end_byte - pair[1].start_byte)
    return frozenset(unit.place(child).line for child in block.named_children)


def _around(unit: Unit, place: Place) -> Iterator[tuple[Unit, Node]]:
    """Yield the blocks around a place."""
    for function in unit.functions:
        for block in descendants(function.node, BLOCK):
            span = unit.place(block)
            if span.line <= place.line and place.end_line <= span.end_line:
                yield unit, block
