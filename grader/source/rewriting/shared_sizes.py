"""Smaller fixed shared arrays: as many elements as there are threads to use them."""

from __future__ import annotations

from collections.abc import Iterable

from tree_sitter import Node

from grader.records import Fix
from grader.source import Kernel, Launch, SharedArray, Unit
from grader.source.code_edits import fix, replace_node
from grader.source.constants import fold
from grader.source.cuda_code import cuda_code, text
from grader.source.rewriting.shared_arrays import index_of, subscript_of, uses

MOST_THREADS = 1024
"""Threads that a block may have."""


def shrink(
    unit: Unit, kernel: Kernel, array: SharedArray, launches: Iterable[Launch]
) -> tuple[Fix, ...]:
    """Give the array one element a thread, where no thread uses another element than its own."""
    blocks = {fold(unit, launch.block) for launch in launches}
    if len(blocks) != 1 or None in blocks or len(array.dims) != 1:
        return ()
    size = next(block for block in blocks if block is not None)
    for node in uses(unit, kernel, array.name):
        subscript = subscript_of(node)
        index = index_of(subscript) if subscript is not None else None
        if index is None or not _below(unit, index, kernel, size):
            return ()
    edit = replace_node(unit, array.dims[0], str(size))
    return fix(f"give {array.name} one element for each of the {size} threads", [edit])


def cap(unit: Unit, array: SharedArray, count: int) -> tuple[Fix, ...]:
    """Give the array as many elements as a block can have threads: more than one for each has no use."""
    if len(array.dims) != 1 or count <= MOST_THREADS:
        return ()
    edit = replace_node(unit, array.dims[0], str(MOST_THREADS))
    return fix(f"give {array.name} one element for each thread that a block can have", [edit])


def _below(unit: Unit, index: Node, kernel: Kernel, size: int) -> bool:
    if text(index) == "threadIdx.x":
        return True
    value = fold(unit, index)
    if value is not None:
        return value < size
    return index.type == "identifier" and text(index) in thread_ids(unit, kernel)


def thread_ids(unit: Unit, kernel: Kernel) -> set[str]:
    """Return the names that are initialised with `threadIdx.x` and never assigned again."""
    code = cuda_code(unit)
    found = {
        text(node.child_by_field_name("declarator"))
        for node in code.of("init_declarator")
        if text(node.child_by_field_name("value")) == "threadIdx.x"
        and kernel.node.start_byte <= node.start_byte < kernel.node.end_byte
    }
    changed = {
        text(node.child_by_field_name("left"))
        for node in code.of("assignment_expression")
        if kernel.node.start_byte <= node.start_byte < kernel.node.end_byte
    }
    return found - changed
