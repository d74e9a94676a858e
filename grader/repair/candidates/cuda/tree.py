"""Access to C++ syntax trees: by patterns, as text for templates, and a node's role in its parent."""

from __future__ import annotations

import re

from tree_sitter import Node, Parser

from grader.repair.candidates.pattern import Tree
from grader.source import cuda_language
from grader.source.cpp_reading import read_call
from grader.source.nodes import text

ATOMS = frozenset(
    {
        "identifier",
        "number_literal",
        "subscript_expression",
        "field_expression",
        "call_expression",
        "parenthesized_expression",
    }
)
"""Expressions that need no parentheses as a part of a product."""
WRITTEN = {"update_expression", "pointer_expression", "lambda_capture_specifier", "declaration", "parameter_declaration"}  # fmt: skip
_LOOSER = re.compile(r"[?<>=&|]")
"""Operators that bind less than a sum."""


def factor(node: Node) -> str:
    """Return an expression's text as a part of a product."""
    return text(node) if node.type in ATOMS else f"({text(node)})"


class Words(str):
    """An expression's text, which a template puts in parentheses where it needs them."""

    __slots__ = ("node",)
    node: Node

    def __format__(self, spec: str) -> str:
        """Return the text, as a factor (`f`) or a term of a sum (`t`) if requested."""
        loose = spec == "f" or (spec == "t" and _LOOSER.search(self))
        return factor(self.node) if loose else str(self)


def words_of(node: Node) -> Words:
    """Return an expression's text for a template."""
    words = Words(text(node))
    words.node = node
    return words


def _parse(words: str) -> Node:
    tree = Parser(cuda_language()).parse(f"int v = {words};".encode())
    value = tree.root_node.named_children[0].child_by_field_name("declarator")
    found = value.child_by_field_name("value") if value is not None else None
    if found is None or found.has_error:
        msg = f"no C++ expression: {words}"
        raise ValueError(msg)
    return found


def _sign(node: Node) -> str:
    sign = node.child_by_field_name("operator") or node.child_by_field_name("function")
    return "" if sign is None or sign.child_count or TREE.letter(sign) else text(sign)


TREE = Tree(
    parse=_parse,
    head=lambda node: (node.type,) if node.child_count else (node.type, node.text),
    parts=lambda node: [child for child in node.children if child.type != "comment"],
    words=text,
    sign=_sign,
    name=lambda node: text(node) if node.type == "identifier" else "",
    may_be=lambda _letter, node: node.is_named,
)
"""C++ as tree-sitter reads it."""


def parts(node: Node | None) -> tuple[str, str, str]:
    """Return left side, operator and right side of an expression with two operands."""
    if node is None:
        return "", "", ""
    left, operator, right = (
        text(node.child_by_field_name(name)) for name in ("left", "operator", "right")
    )
    return left, operator, right


def is_target(node: Node) -> bool:
    """Whether a node is written to, so that an expression can't replace it."""
    parent = node.parent
    kind = parent.type if parent is not None else "update_expression"
    if kind in {"assignment_expression", "init_declarator"} and parent is not None:
        return node in (parent.child_by_field_name(name) for name in ("left", "declarator"))
    if kind == "call_expression" and parent is not None:
        return parent.child_by_field_name("function") == node
    return kind in WRITTEN


def stored_in(node: Node | None) -> str:
    """Return the array that an assignment stores to: `y` of `y[i] = v` and of `*y = v`; else empty."""
    left = node.child_by_field_name("left") if node is not None else None
    if left is None or left.type not in {"subscript_expression", "pointer_expression"}:
        return ""
    return text(left.child_by_field_name("argument"))


def call_around(node: Node) -> Node | None:
    """Return the call that a node is an argument of."""
    outer = node.parent.parent if node.parent is not None else None
    return outer if outer is not None and outer.type == "call_expression" else None


def called_name(node: Node | None) -> str:
    """Return the last name of the called function; empty if it is not a call."""
    return read_call(node).name if node is not None and node.type == "call_expression" else ""


def mentions(words: str, name: str) -> bool:
    """Whether a text contains a name as a word."""
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", words) is not None
