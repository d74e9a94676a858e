"""Conditions on CUDA expressions in the rows of rewrites: kind, and role in the statement, loop, index or launch."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import islice

from tree_sitter import Node

from grader.repair.candidates.cuda.names import Names
from grader.repair.candidates.cuda.tree import call_around, called_name, is_target, parts, stored_in
from grader.source.cpp_reading import read_call
from grader.source.nodes import around, text

INDEXED = {"subscript_argument_list", "binary_expression", "init_declarator", "argument_list"}
GIVING = {"assignment_expression", "init_declarator"}
MAKERS = re.compile(r"(?:torch|at)::(?:empty|zeros|ones|full)")
MOVED = frozenset({"permute", "transpose", "t", "movedim", "swapaxes", "expand", "expand_as", "select", "slice", "narrow"})  # fmt: skip
"""Methods after which the elements no longer lie in memory in their order."""
_WHOLE = re.compile(r"\((?:u?int|char|long)|static_cast<\s*(?:u?int|char|long)")


def _type_around(node: Node) -> str:
    return node.parent.type if node.parent is not None else ""


def _is_name(_: Names, node: Node) -> bool:
    return re.fullmatch(r"\(?[A-Za-z_]\w*\)?", text(node)) is not None


def _is_stored(scope: Names, node: Node) -> bool:
    """Whether it is the value stored or added to an array parameter of the kernel."""
    parent = node.parent
    if scope.on_host or parent is None:
        return False
    if parent.type == "assignment_expression":
        own = parent.child_by_field_name("right") == node
        return own and stored_in(parent) in scope.pointers
    outer = call_around(node)
    return called_name(outer) == "atomicAdd" and outer is not None and read_call(outer).arguments[1:] == (node,)  # fmt: skip


def _is_value(scope: Names, node: Node) -> bool:
    """Whether it is a complete real value: assigned, returned, passed to a function, or an element in a product."""
    kind = _type_around(node)
    if scope.on_host or scope.kind_of(node) != "real" or is_target(node):
        return False
    if kind == "argument_list":
        return scope.kind_of(call_around(node)) == "real"
    if kind == "binary_expression":
        return node.type == "subscript_expression" and parts(node.parent)[1] in {"*", "/"}
    return kind in GIVING | {"return_statement"}


def _is_truncated(scope: Names, node: Node) -> bool:
    """Whether it is a real number that a cast truncates to an integer."""
    outer = node.parent if node.type != "parenthesized_expression" else None
    cast = call_around(node) if outer is not None and outer.type == "argument_list" else outer
    return _WHOLE.match(text(cast)) is not None and scope.kind_of(node) == "real"


def _is_added(scope: Names, node: Node) -> bool:
    """Whether it is a real value that is added to a sum unchanged."""
    plain = node.type in {"identifier", "subscript_expression"} and scope.kind_of(node) == "real"
    return plain and not is_target(node) and parts(node.parent)[1] == "+="


def _is_made(scope: Names, node: Node) -> bool:
    """Whether it is the integer assigned to a variable."""
    return _type_around(node) in GIVING and not is_target(node) and scope.kind_of(node) == "integer"


def _is_addend(scope: Names, node: Node) -> bool:
    """Whether it is a name that is an index, or is added to others to make one or a variable."""
    here = node.parent
    while here is not None and here.type == "binary_expression" and parts(here)[1] == "+":
        here = here.parent
    named = node.type == "identifier" and scope.kind_of(node) == "integer"
    return named and here is not None and here.type in {"subscript_argument_list", "init_declarator"}  # fmt: skip


def _is_numeric(scope: Names, node: Node) -> bool:
    """Whether numbers are assigned, and no tensors."""
    sides = (node.child_by_field_name(side) for side in ("left", "right"))
    return any(scope.kind_of(one) for one in sides)


def _in_head(_: Names, node: Node) -> bool:
    """Whether it is in the head of a `for`."""
    for outer in around(node):
        if outer.type == "for_statement":
            body = outer.child_by_field_name("body")
            return body is None or node.end_byte <= body.start_byte
        if outer.type.endswith("statement"):
            return False
    return False


def _is_launch_size(scope: Names, node: Node) -> bool:
    """Whether it is an integer, by name, in `<<<...>>>`; a dim3 is not one."""
    named = node.type == "identifier" and _type_around(node) == "kernel_call_syntax"
    return named and scope.kind_of(node) == "integer"


def _is_block_size(scope: Names, node: Node) -> bool:
    """Whether it is a launch's second configuration argument, the threads."""
    told = [one for one in node.parent.named_children if one.type != "comment"] if node.parent else []  # fmt: skip
    return _is_launch_size(scope, node) and told[1:2] == [node]


def _is_grid_size(scope: Names, node: Node) -> bool:
    """Whether it is a whole number among the sizes of a declared `dim3`."""
    made = next(islice(around(node), 2, None), None)
    a_dim3 = made is not None and text(made.child_by_field_name("type")) == "dim3"
    return a_dim3 and scope.kind_of(node) == "integer"


def _in_real(scope: Names, node: Node) -> bool:
    """Whether an integer quotient becomes a real number."""
    parent = node.parent
    whole = parts(parent)[1] == "/" and scope.kind_of(parent) == "integer"
    return whole and any(scope.kind_of(outer) == "real" for outer in around(node))


def makes_tensor(_: Names, node: Node) -> bool:
    """Whether an expression makes a tensor with separate size arguments."""
    call = read_call(node) if node.type == "call_expression" else None
    if call is None or not MAKERS.fullmatch(call.qualified):
        return False
    return bool(call.arguments) and call.arguments[0].type == "initializer_list"


FACTS: Mapping[str, Callable[[Names, Node], bool]] = {
    "host": lambda scope, _: scope.on_host,
    "device": lambda scope, _: not scope.on_host,
    "integer": lambda scope, node: scope.kind_of(node) == "integer",
    "real": lambda scope, node: scope.kind_of(node) == "real",
    "name": _is_name,
    "numeric": _is_numeric,
    "number": lambda _, node: node.type == "number_literal",
    "field": lambda _, node: node.type == "field_expression",
    "difference": lambda _, node: "-" in text(node),
    "rounded": lambda _, node: re.search(r"- 1\)?$", text(node)) is not None,
    "stored": _is_stored,
    "value": _is_value,
    "truncated": _is_truncated,
    "added": _is_added,
    "made": _is_made,
    "addend": _is_addend,
    "in-index": lambda _, node: any(o.type in INDEXED for o in islice(around(node), 3)),
    "in-head": _in_head,
    "in-real": _in_real,
    "condition": lambda _, node: parts(node.parent)[1] != "&&",
    "launch-size": _is_launch_size,
    "block-size": _is_block_size,
    "grid-size": _is_grid_size,
    "moved": lambda _, node: called_name(node) in MOVED and _type_around(node) != "field_expression",
    "maker": makes_tensor,
    "two-axes": lambda scope, node: ".y" in scope.launched_text(node),
    "second-axis": lambda scope, _: ".y" in scope.function.text,
    "statement": lambda _, node: node.type.endswith("statement") and _type_around(node) == "compound_statement",
    "shared": lambda scope, _: bool(scope.function.shared),
    "barrier": lambda _, node: text(node).startswith("__syncthreads"),
}  # fmt: skip
"""Each word, and whether it holds of an expression in a function."""
