"""Rewritings of too large fixed shared arrays: make them dynamic, or remove them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tree_sitter import Node

from grader.records import Edit, Fix
from grader.source import Kernel, Launch, Unit
from grader.source.code_edits import delete_lines_of, fix, replace_node
from grader.source.cpp import Declare
from grader.source.cpp_reading import variables
from grader.source.nodes import around, descendants, names_in, text
from grader.source.statements import LOOPS, enclosing_loops, insert_before

ALONE = {"call_expression", "subscript_expression", "parenthesized_expression"}
OPT_IN = 232_448
"""Bytes of shared memory that a block may opt in to on the largest GPUs (sm_90)."""


def uses(unit: Unit, kernel: Kernel, array: Declare) -> list[Node]:
    """Return the places where a kernel names an array, without its declaration."""
    body, own = kernel.body, array.node
    inside = [node for node in unit.uses_of(array.name) if body and _holds(body, node)]
    return [node for node in inside if not _holds(own, node)]


def _holds(outer: Node, inner: Node) -> bool:
    return outer.start_byte <= inner.start_byte and inner.end_byte <= outer.end_byte


# reading global memory instead


def unstage(unit: Unit, kernel: Kernel, array: Declare) -> tuple[Fix, ...]:
    """Remove an array with a copy of global memory, `s[i] = x[base + i]`.

    Each read of it is replaced by the last stored expression: `x[base + i]`, or after `s[i] = expf(s[i] - top)` that
    expression of it, if no operand changes later.
    """
    subscripts = [subscript_of(node) for node in uses(unit, kernel, array)]
    known = [node for node in subscripts if node is not None]
    if not known or len(known) < len(subscripts) or len(array.sizes) != 1:
        return ()
    held: tuple[str, str] | None = None
    texts: dict[int, str] = {}
    for node in sorted(known, key=_evaluation_order):
        index = index_of(node)
        if index is None or index.type not in {"identifier", "number_literal"}:
            return ()
        if _is_store(node):
            held = _stored_element(node, held, text(index), kernel, texts)
        elif held is not None:
            texts[node.id] = _at(held, text(index))
        if held is None:
            return ()
    stores = [node for node in known if _is_store(node)]
    dropped = [_statement(node) for node in stores]
    read = [node for node in known if not any(_holds(one, node) for one in dropped)]
    edits = [delete_lines_of(unit, array.node), *(_drop_store(unit, node) for node in stores)]
    edits += [replace_node(unit, node, texts[node.id]) for node in read]
    label = f"read {held[1] if held else ''} where {array.name} was read, and drop the copy"
    return fix(" ".join(label.split()), edits)


def _evaluation_order(node: Node) -> int:
    """Return a key in the order of evaluation: a store comes after the reads of its right side."""
    parent = node.parent
    return parent.end_byte if _is_store(node) and parent is not None else node.start_byte


def _at(held: tuple[str, str], index: str) -> str:
    """Return an element's expression, for another index than the one it was stored with."""
    return re.sub(rf"\b{re.escape(held[0])}\b", index, held[1])


def _stored_element(
    store: Node, held: tuple[str, str] | None, index: str, kernel: Kernel, texts: dict[int, str]
) -> tuple[str, str] | None:
    """Return the index and the expression of a store, if the expression stays valid."""
    right = store.parent.child_by_field_name("right") if store.parent is not None else None
    operator = text(store.parent.child_by_field_name("operator")) if store.parent else ""
    if right is None or index.isdigit():
        return None
    if held is None:
        inputs = {one.name for one in kernel.parameters if one.is_pointer and one.is_const}
        copied = operator == "=" and right.type == "subscript_expression"
        copied = copied and text(right.child_by_field_name("argument")) in inputs
        return (index, text(right)) if copied else None
    if not _is_lasting(right, index, store, kernel):
        return None
    value = _with_texts(right, texts)
    if operator == "=":
        return index, value if right.type in ALONE else f"({value})"
    return index, f"({_at(held, index)} {operator.rstrip('=')} ({value}))"


def _with_texts(node: Node, texts: dict[int, str]) -> str:
    """Return an expression's text with its reads of the array replaced."""
    words, start = node.text or b"", node.start_byte
    inner = (one for one in descendants(node, "subscript_expression") if one.id in texts)
    for one in sorted(inner, key=lambda one: -one.start_byte):
        new = texts[one.id].encode()
        words = words[: one.start_byte - start] + new + words[one.end_byte - start :]
    return words.decode()


def _is_lasting(right: Node, index: str, store: Node, kernel: Kernel) -> bool:
    """Whether an expression has the same value at the end of the kernel."""
    names = names_in(right) - {index}
    loops = list(enclosing_loops(store))
    if kernel.body is None or not loops:
        return False
    changed = descendants(kernel.body, "assignment_expression", "update_expression")
    targets = (
        text(node.child_by_field_name("left") or node.child_by_field_name("argument"))
        for node in changed
        if node.start_byte > loops[-1].start_byte
    )
    return not names.intersection({*targets, *(one.name for one in variables(loops[-1]))})


def _statement(node: Node) -> Node:
    return next((o for o in around(node) if o.type == "expression_statement"), node)


def subscript_of(node: Node) -> Node | None:
    """Return the subscript of an array's name; None for other uses."""
    parent = node.parent
    if parent is None or parent.type != "subscript_expression":
        return None
    return parent if parent.child_by_field_name("argument") == node else None


def index_of(subscript: Node) -> Node | None:
    """Return the one index of a subscript."""
    indices = subscript.child_by_field_name("indices")
    inner = indices.named_children if indices is not None else []
    return inner[0] if len(inner) == 1 else None


def _is_store(subscript: Node) -> bool:
    parent = subscript.parent
    target = parent is not None and parent.child_by_field_name("left") == subscript
    kind = parent.type if parent is not None else ""
    return kind == "update_expression" or (kind == "assignment_expression" and target)


def _drop_store(unit: Unit, store: Node) -> Edit | None:
    """Remove the copying statement, and the loop around it if it does nothing else."""
    statement = _statement(store)
    parent = statement.parent
    if parent is not None and parent.type == "compound_statement":
        if len([child for child in parent.named_children if child.type != "comment"]) > 1:
            return delete_lines_of(unit, statement)
        statement, parent = parent, parent.parent
    if parent is not None and parent.type in LOOPS:
        return delete_lines_of(unit, parent)
    return replace_node(unit, statement, ";")


# dynamic shared memory


def make_dynamic(
    unit: Unit,
    kernel: Kernel,
    array: Declare,
    count: int,
    size: int,
    launches: Iterable[Launch],
) -> tuple[Fix, ...]:
    """Declare the array `extern`, opt in to its size, and reserve it at each launch.

    `count` is its number of elements, `size` the bytes of the largest element type.
    """
    sites = tuple(launches)
    if count * size > OPT_IN or not sites or any(one.extern for one in kernel.shared):
        return ()
    edits: list[Edit | None] = [replace_node(unit, array.node, _dynamic_declaration(array))]
    for launch in sites:
        edits += _reserve(unit, kernel, array, count, launch)
    return fix(f"make {array.name} dynamic shared memory and opt in to its size", edits)


def _dynamic_declaration(array: Declare) -> str:
    raw, kind = f"{array.name}_bytes", array.type
    inner = "".join(f"[{text(dim)}]" for dim in array.sizes[1:])
    pointer = f"(*{array.name}){inner}" if inner else f"* {array.name}"
    cast = f"{kind} (*){inner}" if inner else f"{kind}*"
    return (
        f"extern __shared__ __align__(16) unsigned char {raw}[];\n"
        f"    {kind} {pointer} = reinterpret_cast<{cast}>({raw});"
    )


def _reserve(
    unit: Unit, kernel: Kernel, array: Declare, count: int, launch: Launch
) -> Iterator[Edit | None]:
    if launch.shared is not None or launch.block is None:
        yield None
        return
    names = [parameter.name for parameter in kernel.template_parameters]
    given = dict(zip(names, map(text, launch.template_arguments), strict=False))
    kind = given.get(array.type, array.type)
    amount = f"{count} * sizeof({kind})"
    end = launch.block.end_byte
    yield unit.edit(end, end, f", {amount}")
    arguments = ", ".join(map(text, launch.template_arguments))
    name = f"{kernel.name}<{arguments}>" if arguments else kernel.name
    most = "cudaFuncAttributeMaxDynamicSharedMemorySize"
    yield insert_before(
        unit, _statement(launch.node), f"cudaFuncSetAttribute({name}, {most}, {amount});"
    )
