"""The meaning of unnamed numbers in a shape of `get_inputs`: `torch.randn(64, 32, 128, 128)`.

The first is the batch, and from the third of four on they are lengths of an image, unless the same number may be
something else: a width that `get_init_inputs` repeats, or the rows of one matrix that are the columns of another.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

IMAGE = 4
"""Least number of dims for which the third and later ones are an image's."""
BATCH, LENGTH = "batch", "size"
Place = tuple[int, int]
"""Line and column."""


def names_by_place(tree: ast.Module, makers: frozenset[str], floor: int) -> dict[Place, str]:
    """Return a name for each such number; with fewer dims a batch above `floor` may also be a width."""
    bodies = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name in makers]
    shapes = [shape for body in bodies for shape in _shapes(body)]
    named = {_place(one): name for shape in shapes for one, name in _named_lengths(shape, floor)}
    numbers = [
        n for one in tree.body if _makes(one, makers) for n in ast.walk(one) if _is_whole_number(n)
    ]
    apart = {_value(n) for n in numbers if _place(n) not in named}
    return {
        _place(n): named[_place(n)]
        for n in numbers
        if _place(n) in named and _value(n) not in apart
    }


def _makes(node: ast.stmt, makers: frozenset[str]) -> bool:
    """Whether a statement of the module defines a function whose numbers may be changed."""
    return not isinstance(node, ast.ClassDef | ast.FunctionDef) or node.name in makers


def _shapes(body: ast.AST) -> Iterator[list[ast.expr]]:
    """Yield the shapes passed to calls: their arguments, or one of their arguments."""
    for call in (node for node in ast.walk(body) if isinstance(node, ast.Call)):
        for given in (
            call.args,
            *(a.elts for a in call.args if isinstance(a, ast.Tuple | ast.List)),
        ):
            if len(given) > 1 and all(map(_is_whole_number, given)):
                yield given


def _named_lengths(shape: list[ast.expr], floor: int) -> Iterator[tuple[ast.expr, str]]:
    image = len(shape) >= IMAGE
    if image or _value(shape[0]) <= floor:
        yield shape[0], BATCH
    for one in shape[2:] if image else ():
        yield one, LENGTH


def _is_whole_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int


def _value(node: ast.AST) -> int:
    assert isinstance(node, ast.Constant)
    assert isinstance(node.value, int)
    return node.value


def _place(node: ast.AST) -> Place:
    assert isinstance(node, ast.expr)
    return node.lineno, node.col_offset
