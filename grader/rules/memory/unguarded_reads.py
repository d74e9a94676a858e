"""A fix: reads of a tensor at coordinates that nothing compares with its sizes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from grader.source.code_edits import fix
from grader.source.cuda_code import descendants, read_call, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from grader.records import Evidence, Fix
    from grader.source import Kernel, Source, Unit

Bound = tuple[str, str]
"""A coordinate, and the size that it stays below."""


def zero_outside(source: Source, item: Evidence) -> tuple[Fix, ...]:
    """Read zero where a coordinate of `x[(a * H + y) * W + z]` is no longer below its own size.

    The sizes are what the index itself multiplies with, so they need no guess.
    """
    if item.place is None:
        return ()
    for unit in source.cuda:
        for kernel in unit.kernels:
            edits = []
            for read, index in _reads(unit, kernel, item.place.line):
                asked = [words for bound in _bounds(index) for words in _asked(kernel, bound)]
                if asked:
                    new = f"({' && '.join(reversed(asked))} ? {text(read)} : 0.0f)"
                    edits.append(unit.edit(read.start_byte, read.end_byte, new))
            if edits:
                return fix(f"read zero outside of the tensor on line {item.place.line}", edits)
    return ()


def _reads(unit: Unit, kernel: Kernel, line: int) -> Iterator[tuple[Node, Node]]:
    """Yield the reads of global memory on a line, and the expression of each one's place."""
    pointers = {parameter.name for parameter in kernel.parameters if parameter.is_pointer}
    for node in descendants(kernel.node, "subscript_expression", "call_expression"):
        if not unit.place(node).line <= line <= unit.place(node).end_line:
            continue
        if node.type == "call_expression":
            call = read_call(node)
            if call.last == "__ldg" and call.arguments:
                yield from ((node, index) for index in _sum_of(call.arguments[0], pointers))
        elif text(node.child_by_field_name("argument")) in pointers and _is_read(node):
            inner = node.child_by_field_name("indices")
            yield from ((node, index) for index in (inner.named_children if inner else ()))


def _sum_of(node: Node, pointers: set[str]) -> Iterator[Node]:
    """Yield `p + i` itself, and `i` of `&p[i]`."""
    first: Node | None = node
    while first is not None and first.type == "binary_expression":
        first = first.child_by_field_name("left")
    if first is not node and text(first) in pointers:
        yield node
    for inner in descendants(node, "subscript_argument_list"):
        yield from inner.named_children


def _is_read(node: Node) -> bool:
    parent = node.parent
    if parent is None or parent.type in {"pointer_expression", "update_expression"}:
        return False
    return parent.child_by_field_name("left") != node or parent.type != "assignment_expression"


def _bounds(index: Node) -> Iterator[Bound]:
    """Yield (z, W), (y, H), ... of `(a * H + y) * W + z`."""
    here: Node | None = _bare(index)
    while here is not None and text(here.child_by_field_name("operator")) == "+":
        product, last = (_bare(here.child_by_field_name(side)) for side in ("left", "right"))
        if product is None or last is None:
            return
        if text(product.child_by_field_name("operator")) == "+":  # `p + (a * W)`, with `z` to come
            product = _bare(product.child_by_field_name("right")) or product
        size = product.child_by_field_name("right")
        if text(product.child_by_field_name("operator")) != "*" or size is None:
            return
        if last.type == "identifier":
            yield text(last), text(size)
        here = _bare(product.child_by_field_name("left"))


def _bare(node: Node | None) -> Node | None:
    while node is not None and node.type == "parenthesized_expression":
        node = node.named_children[0] if node.named_children else None
    return node


def _asked(kernel: Kernel, bound: Bound) -> Iterator[str]:
    """Yield the conditions that keep a coordinate below its size; none where its loop does."""
    name, size = bound
    words = text(kernel.body)
    if re.search(rf"for\s*\([^;]*\b{name}\b[^;]*;\s*{name}\s*<\s*{re.escape(size)}\s*;", words):
        return
    yield f"{name} < {size}"
    made = re.search(rf"\b{name}\s*=\s*([^;]*);", words)
    if made and "-" in made[1]:
        yield f"{name} >= 0"
