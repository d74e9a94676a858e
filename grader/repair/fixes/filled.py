"""A fix: a shared array is zero before the first thread uses it."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from grader.records import Evidence, Fix
from grader.repair.fixes.maker import FixMaker, of_proofs
from grader.source import Function, SharedArray, Source, Unit
from grader.source.code_edits import fix
from grader.source.cuda_code import cuda_code, descendants, text
from grader.source.divergence import all_arrive
from grader.source.statements import insert_after, statement


def filled(source: Source, item: Evidence) -> Iterator[Fix]:
    """Yield the fixes that store zero in the arrays of a line that a run saw read unwritten cells."""
    for unit in source.cuda if item.place is not None else ():
        for function in unit.functions:
            for array in function.shared:
                used = _on_line(unit, function, array, item.place.line if item.place else 0)
                if used and not array.dynamic and all_arrive(array.node):
                    yield from _zeroed(unit, array)


def _on_line(unit: Unit, function: Function, array: SharedArray, line: int) -> list[Node]:
    names = cuda_code(unit).under(function.node, "identifier")
    return [node for node in names if text(node) == array.name and unit.place(node).line == line]


def _zeroed(unit: Unit, array: SharedArray) -> Iterator[Fix]:
    """Store zero after the array's declaration, and wait: all threads take a share of its cells."""
    first = "".join("[0]" for _ in array.dims)
    cells = f"(int)(sizeof({array.name}) / sizeof({array.name}{first}))"
    target = f"(&{array.name}{first})[cell]" if len(array.dims) > 1 else f"{array.name}[cell]"
    loop = f"for (int cell = threadIdx.x; cell < {cells}; cell += blockDim.x) {target} = 0;"
    scalar = f"if (threadIdx.x == 0) {array.name} = 0;"
    own = statement(next(descendants(array.node, "identifier"), array.node))
    new = f"{loop if array.dims else scalar}\n__syncthreads();"
    yield from fix(
        f"store zero in `{array.name}` before it is read", [insert_after(unit, own, new)]
    )


FIX = FixMaker(codes=("SYN001",), propose=of_proofs(filled))
