"""Rewrites of fixed shared arrays that are too large: make dynamic, or do without."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tree_sitter import Node

from grader.records import Edit, Fix
from grader.source import Kernel, Launch, SharedArray, Unit
from grader.source.code_edits import delete_lines_of, fix, replace_node
from grader.source.cuda_code import around, cuda_code, descendants, text

OPT_IN = 232_448
"""Bytes of shared memory that a block may opt in to on the largest GPUs (sm_90)."""


def uses(unit: Unit, kernel: Kernel, name: str) -> list[Node]:
    """Return the places where a kernel names an array, without its declaration."""
    body = kernel.body
    if body is None:
        return []
    return [
        node
        for node in cuda_code(unit).variable(name)
        if body.start_byte <= node.start_byte < body.end_byte and not _in_declarator(node)
    ]


def _in_declarator(node: Node) -> bool:
    parent = node.parent
    while parent is not None and parent.type == "array_declarator":
        parent = parent.parent
    return (
        parent is not None
        and parent.type in {"declaration", "init_declarator"}
        and (node.parent is not None and node.parent.type == "array_declarator")
    )


# reading global memory instead


def unstage(unit: Unit, kernel: Kernel, array: SharedArray) -> tuple[Fix, ...]:
    """Do without an array that holds a copy of global memory, `s[i] = x[base + i]`.

    Where it was read, what was last stored in it is computed instead: `x[base + i]`, or after
    `s[i] = expf(s[i] - top)` that expression of it, as long as nothing in it changes later.
    """
    subscripts = [subscript_of(node) for node in uses(unit, kernel, array.name)]
    known = [node for node in subscripts if node is not None]
    if not known or len(known) < len(subscripts) or len(array.dims) != 1:
        return ()
    held: tuple[str, str] | None = None
    edits: list[Edit | None] = [delete_lines_of(unit, array.node)]
    texts: dict[int, str] = {}
    for node in sorted(known, key=_evaluated):
        index = index_of(node)
        if index is None or index.type not in {"identifier", "number_literal"}:
            return ()
        if _is_store(node):
            held = _stored(node, held, text(index), kernel, texts)
            edits.append(_drop_store(unit, node))
        elif held is not None:
            texts[node.id] = _at(held, text(index))
        if held is None:
            return ()
    dropped = [_statement(node) for node in known if _is_store(node)]
    for node in known:
        if node.id in texts and not any(_inside(node, one) for one in dropped):
            edits.append(replace_node(unit, node, texts[node.id]))
    label = f"read {held[1] if held else ''} where {array.name} was read, and drop the copy"
    return fix(" ".join(label.split()), edits)


def _evaluated(node: Node) -> int:
    """Return a key in the order of evaluation: a store comes after what its right side reads."""
    parent = node.parent
    return parent.end_byte if _is_store(node) and parent is not None else node.start_byte


def _at(held: tuple[str, str], index: str) -> str:
    """Return what an element holds, for another index than the one it was stored with."""
    return re.sub(rf"\b{re.escape(held[0])}\b", index, held[1])


def _stored(
    store: Node, held: tuple[str, str] | None, index: str, kernel: Kernel, texts: dict[int, str]
) -> tuple[str, str] | None:
    """Return the index and the expression of what a store leaves in its element, if it can be told later."""
    if held is None:
        origin = _origin(store, kernel)
        return (index, text(origin)) if origin is not None and not index.isdigit() else None
    assignment = store.parent
    right = assignment.child_by_field_name("right") if assignment is not None else None
    operator = text(assignment.child_by_field_name("operator")) if assignment is not None else ""
    if right is None or index.isdigit() or not _lasting(right, index, store, kernel):
        return None
    value = _with(right, texts)
    if operator == "=":
        plain = right.type in {
            "call_expression",
            "subscript_expression",
            "parenthesized_expression",
        }
        return index, value if plain else f"({value})"
    return index, f"({_at(held, index)} {operator.rstrip('=')} ({value}))"


def _with(node: Node, texts: dict[int, str]) -> str:
    """Return an expression's text with its reads of the array replaced."""
    data, at, parts = node.text or b"", node.start_byte, []
    for inner in sorted(_subscripts(node), key=lambda n: n.start_byte):
        if inner.id in texts:
            parts += [
                data[at - node.start_byte : inner.start_byte - node.start_byte].decode(),
                texts[inner.id],
            ]
            at = inner.end_byte
    return "".join((*parts, data[at - node.start_byte :].decode()))


def _subscripts(node: Node) -> list[Node]:
    return list(descendants(node, "subscript_expression"))


def _lasting(right: Node, index: str, store: Node, kernel: Kernel) -> bool:
    """Whether an expression gives the same value at the end of the kernel as where it stands."""
    names = {text(n) for n in descendants(right, "identifier")} - {index}
    body = kernel.body
    loops = [outer for outer in around(store) if outer.type in {"for_statement", "while_statement"}]
    if body is None or not loops:
        return False
    for node in descendants(body, "assignment_expression", "update_expression"):
        target = node.child_by_field_name("left") or node.child_by_field_name("argument")
        if text(target) in names and node.start_byte > loops[-1].start_byte:
            return False
    return not any(
        text(n.child_by_field_name("declarator")) in names
        for n in descendants(loops[-1], "init_declarator")
    )


def _statement(node: Node) -> Node:
    return next((o for o in around(node) if o.type == "expression_statement"), node)


def _inside(node: Node, outer: Node) -> bool:
    return outer.start_byte <= node.start_byte and node.end_byte <= outer.end_byte


def subscript_of(node: Node) -> Node | None:
    """Return the subscript that a name is the array of; None where it stands for something else."""
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
    return (
        parent is not None
        and parent.type in {"assignment_expression", "update_expression"}
        and (parent.type == "update_expression" or parent.child_by_field_name("left") == subscript)
    )


def _origin(store: Node, kernel: Kernel) -> Node | None:
    """Return `x[base + i]`, where it is a const input that a plain assignment copies from."""
    assignment = store.parent
    if assignment is None or text(assignment.child_by_field_name("operator")) != "=":
        return None
    right = assignment.child_by_field_name("right")
    if right is None or right.type != "subscript_expression":
        return None
    owner = text(right.child_by_field_name("argument"))
    inputs = {one.name for one in kernel.parameters if one.is_pointer and one.is_const}
    return right if owner in inputs else None


def _drop_store(unit: Unit, store: Node) -> Edit | None:
    """Remove the copying statement, and the loop around it where it does nothing else."""
    statement = _statement(store)
    parent = statement.parent
    if parent is not None and parent.type == "compound_statement":
        if len([child for child in parent.named_children if child.type != "comment"]) > 1:
            return delete_lines_of(unit, statement)
        statement, parent = parent, parent.parent
    if parent is not None and parent.type in {"for_statement", "while_statement"}:
        return delete_lines_of(unit, parent)
    return replace_node(unit, statement, ";")


# dynamic shared memory


def make_dynamic(
    unit: Unit,
    kernel: Kernel,
    array: SharedArray,
    count: int,
    size: int,
    launches: Iterable[Launch],
) -> tuple[Fix, ...]:
    """Declare the array `extern`, opt in to its size, and reserve it at each launch.

    `count` is its number of elements, `size` the bytes of the largest element type.
    """
    sites = tuple(launches)
    if count * size > OPT_IN or not sites or any(one.dynamic for one in kernel.shared):
        return ()
    edits: list[Edit | None] = [replace_node(unit, array.node, _dynamic_declaration(array))]
    for launch in sites:
        edits += _reserve(unit, kernel, array, count, launch)
    return fix(f"make {array.name} dynamic shared memory and opt in to its size", edits)


def _dynamic_declaration(array: SharedArray) -> str:
    raw, kind = f"{array.name}_bytes", array.element_type
    inner = "".join(f"[{text(dim)}]" for dim in array.dims[1:])
    pointer = f"(*{array.name}){inner}" if inner else f"* {array.name}"
    cast = f"{kind} (*){inner}" if inner else f"{kind}*"
    return (
        f"extern __shared__ __align__(16) unsigned char {raw}[];\n"
        f"    {kind} {pointer} = reinterpret_cast<{cast}>({raw});"
    )


def _reserve(
    unit: Unit, kernel: Kernel, array: SharedArray, count: int, launch: Launch
) -> Iterator[Edit | None]:
    if launch.shared is not None or launch.block is None:
        yield None
        return
    kind = array.element_type
    for parameter, argument in zip(
        kernel.template_parameters, launch.template_arguments, strict=False
    ):
        if parameter.name == kind:
            kind = text(argument)
    amount = f"{count} * sizeof({kind})"
    end = launch.block.end_byte
    yield unit.edit(end, end, f", {amount}")
    statement = next(
        (outer for outer in around(launch.node) if outer.type == "expression_statement"), None
    )
    name = kernel.name
    if launch.template_arguments:
        name += f"<{', '.join(text(one) for one in launch.template_arguments)}>"
    opt_in = (
        f"cudaFuncSetAttribute({name}, cudaFuncAttributeMaxDynamicSharedMemorySize, {amount});\n"
    )
    if statement is None:
        yield None
    else:
        yield unit.edit(statement.start_byte, statement.start_byte, opt_in)
