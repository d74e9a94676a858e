"""Whether an expression is an integer or a real number, as far as its text tells."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from grader.repair.variants.sites import INTEGERS, REALS, Scope, plain_type
from grader.source.cuda_code import read_call, text

if TYPE_CHECKING:
    from tree_sitter import Node

Kind = Literal["integer", "real", ""]
"""Empty where it is neither, or can't be told."""
_REAL = re.compile(r"\d*\.\d+.*|\d+\.\d*.*|\d+e[-+]?\d+.*|\d+[fF]", re.ASCII)
_WHOLE = {"size", "numel", "dim", "stride", "sizeof"}
_ALIKE = {"max", "min", "abs", "std::max", "std::min", "fmax", "fmin"}
_COORDINATES = {"threadIdx", "blockIdx", "blockDim", "gridDim"}
_ARITHMETIC = {"+", "-", "*", "/", "%"}


def kind_of(scope: Scope, node: Node | None) -> Kind:
    """Return what kind of number an expression is."""
    read = _READ.get(node.type) if node is not None else None
    return read(scope, node) if read is not None and node is not None else ""


def of_type(words: str) -> Kind:
    """Return the kind of a C++ type."""
    plain = plain_type(words.replace("*", ""))
    return "integer" if plain in INTEGERS else "real" if plain in REALS else ""


def _literal(scope: Scope, node: Node) -> Kind:
    del scope
    words = text(node)
    return "real" if _REAL.fullmatch(words) and not words.startswith("0x") else "integer"


def _name(scope: Scope, node: Node) -> Kind:
    return of_type(scope.type_of(text(node)))


def _element(scope: Scope, node: Node) -> Kind:
    array = node.child_by_field_name("argument")
    while array is not None and array.type == "subscript_expression":
        array = array.child_by_field_name("argument")
    return of_type(scope.element_type(text(array)))


def _call(scope: Scope, node: Node) -> Kind:
    made = read_call(node)
    if made.name in {"static_cast", "scalar_t", "float", "double", "int", "T"}:
        return of_type(made.template or made.name)
    if made.last in _WHOLE:
        return "integer"
    if made.name in _ALIKE and made.arguments:
        return _either(*(kind_of(scope, argument) for argument in made.arguments))
    if made.object is None and re.search(r"f$|exp|log|sqrt|tanh|sin|cos|pow|fma", made.last):
        return "real"
    return ""


def _binary(scope: Scope, node: Node) -> Kind:
    if text(node.child_by_field_name("operator")) not in _ARITHMETIC:
        return ""
    sides = (node.child_by_field_name(side) for side in ("left", "right"))
    return _either(*(kind_of(scope, side) for side in sides))


def _either(*kinds: Kind) -> Kind:
    return "real" if "real" in kinds else "" if "" in kinds else "integer"


def _field(scope: Scope, node: Node) -> Kind:
    del scope
    return "integer" if text(node).split(".")[0] in _COORDINATES else ""


def _inner(scope: Scope, node: Node) -> Kind:
    return kind_of(scope, node.named_children[0]) if node.named_children else ""


def _cast(scope: Scope, node: Node) -> Kind:
    del scope
    return of_type(text(node.child_by_field_name("type")))


def _choice(scope: Scope, node: Node) -> Kind:
    return kind_of(scope, node.child_by_field_name("consequence"))


_READ: dict[str, Callable[[Scope, Node], Kind]] = {
    "number_literal": _literal,
    "identifier": _name,
    "subscript_expression": _element,
    "call_expression": _call,
    "binary_expression": _binary,
    "field_expression": _field,
    "parenthesized_expression": _inner,
    "unary_expression": _inner,
    "cast_expression": _cast,
    "conditional_expression": _choice,
}
