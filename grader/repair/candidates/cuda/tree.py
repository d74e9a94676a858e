"""How C++'s syntax trees are read by patterns, and an expression's text as templates take it."""

from __future__ import annotations

import re

from tree_sitter import Node, Parser

from grader.repair.candidates.pattern import Tree
from grader.source import cuda_language
from grader.source.cuda_code import text

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
        """Return the text, as a factor (`f`) or a term of a sum (`t`) if that is asked for."""
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
    return "" if sign is None or sign.child_count or _letter(sign) else text(sign)


def _letter(pattern: Node) -> str:
    name = text(pattern) if pattern.type == "identifier" else ""
    return name if len(name) == 1 and name.islower() else ""


TREE = Tree(
    parse=_parse,
    head=lambda node: (node.type,) if node.child_count else (node.type, node.text),
    parts=lambda node: [child for child in node.children if child.type != "comment"],
    words=text,
    sign=_sign,
    letter=_letter,
    may_be=lambda _letter, _node: True,
)
"""C++ as tree-sitter reads it."""
