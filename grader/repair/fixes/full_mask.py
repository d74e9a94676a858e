"""A fix: the mask of a warp exchange names all lanes that execute it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from grader.records import Evidence, Fix
from grader.repair.fixes.maker import FixMaker, of_proofs
from grader.source import Source, Unit
from grader.source.code_edits import fix, replace_node
from grader.source.cuda_code import cuda_code, text

ALL = 0xFFFFFFFF
LEFT_OUT = frozenset({"sync-lane-not-in-mask", "shuffle-absent-lane"})
"""Codes of evidence that lanes take part which the mask leaves out, or are read."""
_NUMBER = re.compile(r"(0[xX][0-9a-fA-F]+|\d+)[uUlL]*")


def full_mask(source: Source, item: Evidence) -> Iterator[Fix]:
    """Yield the fix that names every lane, where a run saw lanes that a written mask leaves out."""
    if item.place is None or item.code not in LEFT_OUT:
        return
    for unit in source.cuda:
        masks = [mask for mask in _masks(unit, item.place.line) if _leaves_out(mask)]
        yield from fix(
            "name all 32 lanes in the mask",
            [replace_node(unit, mask, "0xffffffff") for mask in masks],
        )


def _masks(unit: Unit, line: int) -> Iterator[Node]:
    for call in cuda_code(unit).calls:
        place = unit.place(call.node)
        if call.last.endswith("_sync") and call.arguments and place.line <= line <= place.end_line:
            yield call.arguments[0]


def _leaves_out(mask: Node) -> bool:
    number = _NUMBER.fullmatch(text(mask))
    return number is not None and int(number[1], 0) != ALL


FIX = FixMaker(codes=("SYN004",), propose=of_proofs(full_mask))
