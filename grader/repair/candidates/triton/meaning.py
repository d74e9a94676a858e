"""What a text says, however it is written: operands that may be exchanged stand in one order, parentheses are gone."""

from __future__ import annotations

import ast
from functools import lru_cache

EXCHANGEABLE = (ast.Add, ast.Mult, ast.BitAnd, ast.BitOr)
SYMMETRIC = frozenset({"maximum", "minimum", "max", "min"})


@lru_cache(maxsize=1 << 14)
def meaning(words: str) -> str:
    """Return a text that is the same for two statements or expressions which say the same; the text itself if it can't be read."""
    try:
        tree = ast.parse(words.strip())
    except SyntaxError:
        return words
    return ast.unparse(_Ordered().visit(tree))


class _Ordered(ast.NodeTransformer):
    """Puts the operands of sums, products and conditions in the order of their text."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.op, EXCHANGEABLE):
            return node
        parts = sorted(_operands(node, type(node.op)), key=ast.unparse)
        name = ast.Name(type(node.op).__name__, ast.Load())
        return ast.Call(func=name, args=parts, keywords=[])

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        last = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if last in SYMMETRIC and len(node.args) == 2 and not node.keywords:
            node.args = sorted(node.args, key=ast.unparse)
        if last == "next_power_of_2" and _is_power_of_two(node.args[0] if node.args else None):
            return node.args[0]
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        value = ast.BinOp(left=_loaded(node.target), op=node.op, right=node.value)
        made: ast.AST = self.visit(ast.Assign(targets=[node.target], value=value, lineno=1))
        return made


def _operands(node: ast.expr, kind: type[ast.operator]) -> list[ast.expr]:
    """Return the operands of a chain; those that are chains of the same kind have been put in order already."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, kind):
        return [*_operands(node.left, kind), *_operands(node.right, kind)]
    ordered = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    return list(node.args) if ordered and node.func.id == kind.__name__ else [node]  # type: ignore[attr-defined]


def _loaded(target: ast.expr) -> ast.expr:
    return ast.parse(ast.unparse(target), mode="eval").body


def _is_power_of_two(node: ast.expr | None) -> bool:
    value = node.value if isinstance(node, ast.Constant) else 0
    return isinstance(value, int) and value > 0 and value & (value - 1) == 0
