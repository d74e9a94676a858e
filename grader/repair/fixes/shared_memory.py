"""Fixes of shared memory from evidence of runs: space for all threads, zeros before the first read, a barrier, one thread."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from grader.records import Context, Evidence, Finding, Fix, UnwrittenRead
from grader.repair.fixes.maker import FixMaker, of_proofs
from grader.source import Kernel, Source, Unit
from grader.source.analysis.races import lines_of, of_one_warp, shared_use
from grader.source.code_edits import fix
from grader.source.cpp import Declare
from grader.source.divergence import all_arrive
from grader.source.indices import comparisons
from grader.source.nodes import descendants, names_in, text
from grader.source.rewriting.barriers import separate
from grader.source.rewriting.shared_arrays import unstage
from grader.source.rewriting.shared_sizes import COUNTS, enlarge_array
from grader.source.statements import (
    add_statement,
    child_of,
    common_block,
    enclosing_loops,
    insert_after,
    insert_before,
    simple_statement,
    statement,
)

_LEAVES_SOME = re.compile(rb"\b__pipeline_wait_prior\s*\(\s*([^()]*[^()\s0][^()]*)\)")
_LEAVES_SOME_ASM = re.compile(rb"cp\.async\.wait_group\s+(?!0\b)[^;\"\\]+")
"""Waits that leave some copies under way."""
ONE = "threadIdx.x == 0 && threadIdx.y == 0 && threadIdx.z == 0"


def _used_at(source: Source, item: Evidence) -> Iterator[tuple[Unit, Declare]]:
    """Yield the shared arrays that are named on the line of a proof."""
    line = item.place.line if item.place is not None else 0
    for unit in source.cuda if line else ():
        for function in unit.functions:
            names = unit.nodes_under(function.node, "identifier")
            here = {text(node) for node in names if unit.place(node).line == line}
            yield from ((unit, array) for array in function.shared if array.name in here)


def larger(finding: Finding, source: Source, _context: Context) -> Iterator[Fix]:
    """Yield ways to remove or enlarge an array that is used past its end, at the first such access in runs."""
    for item in (one for one in finding.evidence[:1] if "shared" in one.code):
        for unit, array in _used_at(source, item):
            kernel = unit.function_around(array.node)
            if isinstance(kernel, Kernel):
                yield from unstage(unit, kernel, array)
            yield from enlarge_array(unit, array, COUNTS[-1])


def fill_arrays(source: Source, item: Evidence) -> Iterator[Fix]:
    """Yield the fixes that store zero in arrays with unwritten reads in a run, or wait for the copies that fill them."""
    yield from _waited_for(source, item)
    yield from _parts_stored(source, item)
    for unit, array in _used_at(source, item):
        first = "".join("[0]" for _ in array.sizes)
        declared = f"(int)(sizeof({array.name}) / sizeof({array.name}{first}))"
        cells = _bound_of_index(unit, array) if array.extern else declared
        if cells and all_arrive(array.node):
            yield from _zero_array(unit, array, cells)


def _parts_stored(source: Source, item: Evidence) -> Iterator[Fix]:
    """Store each thread's part before the tree that reads it, `sum += s[tid + k]`, and its cell again in every step."""
    for unit in source.cuda:
        adds = [
            n for n in unit.nodes("assignment_expression") if unit.place(n).line in lines_of([item])
        ]
        for loop in [next(enclosing_loops(add), None) for add in adds if _own_cell(add)][:1]:
            every = descendants(loop, "assignment_expression") if loop is not None else ()
            steps = {words: one for one in every if (words := _own_cell(one))}
            before = "\n".join((*steps, "__syncthreads();"))
            after = [add_statement(unit, simple_statement(one), s) for s, one in steps.items()]
            label = "store each thread's partial result before the tree, and update its cell in every step"
            if loop is not None:
                yield from fix(label, [insert_before(unit, statement(loop), before), *after])


def _own_cell(add: Node) -> str:
    """Return `s[tid] = v;` for `v += s[tid + k];`, an empty text where it is no such step."""
    value, right = add.child_by_field_name("left"), add.child_by_field_name("right")
    reads = descendants(right, "subscript_expression") if right is not None else ()
    for read in reads if value is not None and value.type == "identifier" else ():
        base, sums = read.child_by_field_name("argument"), [*descendants(read, "binary_expression")]
        if sums and text(sums[0].child_by_field_name("operator")) == "+":
            return f"{text(base)}[{text(sums[0].named_children[0])}] = {text(value)};"
    return ""


def _bound_of_index(unit: Unit, array: Declare) -> str:
    """Return the kernel's parameter or constant that bounds an array's index; empty if there is none."""
    function = unit.function_around(array.node)
    given = {one.name for one in function.parameters} if function is not None else set()
    whole = function.node if function is not None else array.node
    inside = [one for one in descendants(whole, "subscript_expression") if text(one.child_by_field_name("argument")) == array.name]  # fmt: skip
    indices = {text(one.child_by_field_name("indices"))[1:-1] for one in inside}
    below = (bound for index, bound in comparisons(whole) if index in indices)
    return next((one for one in below if one in given or one in unit.constants or one.isdigit()), "")  # fmt: skip


def _zero_array(unit: Unit, array: Declare, cells: str) -> Iterator[Fix]:
    """Store zero after the array's declaration, and wait: all threads take a share of its cells."""
    first = "".join("[0]" for _ in array.sizes)
    target = f"(&{array.name}{first})[cell]" if len(array.sizes) > 1 else f"{array.name}[cell]"
    loop = f"for (int cell = threadIdx.x; cell < {cells}; cell += blockDim.x) {target} = 0;"
    scalar = f"if (threadIdx.x == 0) {array.name} = 0;"
    own = statement(next(descendants(array.node, "identifier"), array.node))
    new = f"{loop if array.sizes or array.extern else scalar}\n__syncthreads();"
    label = f"store zero in `{array.name}` before it is read"
    yield from fix(label, [insert_after(unit, own, new)], hides=True)


def of_the_race(source: Source, item: Evidence) -> Iterator[Fix]:
    """Yield the fixes of a race from its two lines, the likeliest first."""
    for unit in source.cuda if item.place is not None and item.related else ():
        first = shared_use(unit, item.related[0].line)
        second = shared_use(unit, item.place.line if item.place is not None else 0)
        if first is None or second is None:
            continue
        if of_one_warp(source, [item]):
            meet = insert_before(unit, statement(second), "__syncwarp();")
            yield from fix("let the warp meet before the access", [meet])
            continue
        if simple_statement(first) == simple_statement(second):
            yield from _by_one_thread(unit, second)
            yield from _by_atomics(unit, second)
            yield from _used_again(unit, second)
        if not set(enclosing_loops(first)) & set(enclosing_loops(second)):
            yield from _between_calls(unit, first, second)
            first, second = sorted((first, second), key=lambda use: use.start_byte)
        yield from separate(unit, first, second)


def _between_calls(unit: Unit, first: Node, second: Node) -> Iterator[Fix]:
    """Insert a barrier before an access that conflicts with a later one only through another call of the function."""
    function = unit.function_around(second)
    again = function is not None and function == unit.function_around(first)
    if not again or function is None or function.runs != "device" or function.body is None:
        return
    if second.start_byte < first.start_byte and all_arrive(function.body):
        own = child_of(function.body, second)
        label = f"meet at a barrier before the next call of `{function.name}` stores"
        yield from fix(label, [insert_before(unit, own, "__syncthreads();")])


def _used_again(unit: Unit, use: Node) -> Iterator[Fix]:
    """Insert a barrier before a statement that races with itself, where an earlier one uses the same array: a second reduction."""
    function = unit.function_around(use)
    body, start = function.body if function else None, simple_statement(use).start_byte
    above = [
        node
        for node in (descendants(body, "identifier") if body else ())
        if text(node) == text(use) and node.end_byte <= start
        if node.parent is not None and not node.parent.type.endswith(("declaration", "declarator"))
    ]
    if above and common_block(above[-1], use) == simple_statement(use).parent:
        yield from separate(unit, above[-1], use)


def _by_one_thread(unit: Unit, node: Node) -> Iterator[Fix]:
    """Let one thread store what all store: only where the target is a single shared value."""
    own = simple_statement(node)
    inner = own.named_children[0] if own.named_children else None
    target = inner.child_by_field_name("left") if inner is not None else None
    shared = {array.name for function in unit.functions for array in function.shared}
    if own.type == "expression_statement" and target is not None and text(target) in shared:
        edit = unit.edit(own.start_byte, own.start_byte, f"if ({ONE}) ")
        yield from fix(f"let one thread store `{text(target)}`", [edit])


def _by_atomics(unit: Unit, node: Node) -> Iterator[Fix]:
    """Add with an atomic where several threads add to one cell: `counts[bin] += 1`."""
    own = simple_statement(node)
    inner = own.named_children[0] if own.named_children else None
    left, right = (inner.child_by_field_name(side) if inner else None for side in ("left", "right"))
    operator = text(inner.child_by_field_name("operator")) if inner else ""
    if left is None or right is None or operator != "+=" or left.type != "subscript_expression":
        return
    array = text(left.child_by_field_name("argument"))
    if array not in names_in(right):
        words = f"atomicAdd(&{text(left)}, {text(right)});"
        yield from fix(
            f"add to `{array}` with an atomic", [unit.edit(own.start_byte, own.end_byte, words)]
        )


def added_by_blocks(source: Source, item: Evidence) -> Iterator[Fix]:
    """Yield additions by atomics where blocks add to one cell of a tensor on the same line: `nodes[target] += message`."""
    lines = {place.line for place in (item.place, *item.related) if place is not None}
    for unit in source.cuda if len(lines) == 1 else ():
        for node in unit.nodes("assignment_expression"):
            if unit.place(node).line in lines:
                yield from _by_atomics(unit, node)


LARGER = FixMaker(codes=("MEM011",), propose=larger)


def _waited_for(source: Source, item: Evidence) -> Iterator[Fix]:
    """Yield the fix that waits for every copy into shared memory, where one was unfinished when its cell was read."""
    if not isinstance(item.details, UnwrittenRead) or not item.details.copied:
        return
    for unit in source.cuda:
        asm = _LEAVES_SOME_ASM.finditer(unit.data)
        edits = [unit.edit(*one.span(1), "0") for one in _LEAVES_SOME.finditer(unit.data)]
        edits += [unit.edit(*one.span(), "cp.async.wait_all") for one in asm]
        yield from fix("wait for all copies before what they bring is read", edits)


FILLED = FixMaker(codes=("SYN001",), propose=of_proofs(fill_arrays))
ADDED = FixMaker(codes=("SYN006",), propose=of_proofs(added_by_blocks))
APART = FixMaker(codes=("SYN002",), propose=of_proofs(of_the_race))
