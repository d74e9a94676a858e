"""Access to Python's syntax trees for patterns, and parentheses of expressions."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import cache

from grader.repair.candidates.pattern import Form, Tree

ATOMS = (ast.Name, ast.Constant, ast.Call, ast.Attribute, ast.Subscript)


def is_loose(words: str) -> bool:
    """Whether a text needs parentheses as a part of a product."""
    return not isinstance(TREE.parse(words), ATOMS)


@cache
def _parse(words: str) -> ast.expr:
    return ast.parse(words.strip(), mode="eval").body


def _head(node: ast.AST) -> Form:
    fields = (pair for pair in ast.iter_fields(node) if pair[0] not in {"ctx", "kind"})
    return (type(node), *(p for p in fields if not isinstance(p[1], ast.AST | list)))


def _parts(node: ast.AST) -> Sequence[ast.AST]:
    children = ast.iter_child_nodes(node)
    return [one for one in children if not isinstance(one, ast.expr_context)]


def _sign(node: ast.AST) -> str:
    if isinstance(node, ast.Call):
        return "" if TREE.letter(node.func) else ast.unparse(node.func).rpartition(".")[2]
    return type(node.op).__name__ if isinstance(node, ast.BinOp) else ""


def _name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _may_be(letter: str, node: ast.AST) -> bool:
    number = isinstance(node, ast.Constant) and type(node.value) in {int, float}
    return isinstance(node, ast.expr) and (letter != "c" or number)


TREE = Tree(_parse, _head, _parts, ast.unparse, _sign, _name, _may_be)
"""Python as `ast` reads it. The letter `c` of a pattern stands for numbers alone."""
