"""What decides the type of a value in a Triton kernel: loads, casts and new blocks that it comes from, through assignments."""

import ast
from collections.abc import Iterator, Mapping

from grader.source.analysis.triton import Kernel

KEEPING: Mapping[str, slice] = {
    "sum": slice(1), "cumsum": slice(1), "max": slice(1), "min": slice(1), "abs": slice(1), "trans": slice(1),
    "reshape": slice(1), "broadcast_to": slice(1), "maximum": slice(2), "minimum": slice(2), "where": slice(1, 3),
}  # fmt: skip
"""Functions whose results have the type of these arguments."""
NEW = frozenset({"zeros", "full"})


def deciders(kernel: Kernel, value: ast.expr, seen: set[str] | None = None) -> Iterator[ast.expr]:
    """Yield loads, and the types of casts and of new blocks; what is none of these as it is. Numbers decide nothing."""
    seen = set() if seen is None else seen
    match value:
        case ast.Constant():
            return
        case ast.Name(id=name) if name in kernel.assigned:
            parts = () if name in seen else kernel.assigned[name]
            seen.add(name)
        case ast.BinOp(left=left, op=op, right=right) if not isinstance(op, ast.Div):
            parts = (left, right)
        case ast.UnaryOp(operand=inner) | ast.Subscript(value=inner):
            parts = (inner,)
        case ast.Call() if kernel.language_name(value) in KEEPING:
            parts = tuple(value.args[KEEPING[kernel.language_name(value)]])
        case _:
            yield _type_given(kernel, value)
            return
    for part in parts:
        yield from deciders(kernel, part, seen)


def _type_given(kernel: Kernel, value: ast.expr) -> ast.expr:
    """Return the type that a cast or a new block names; else the value."""
    match value:
        case ast.Call(func=ast.Attribute(attr="to"), args=[given, *_]):
            return given
        case ast.Call(args=args, keywords=words) if kernel.language_name(value) in NEW:
            return next((w.value for w in words if w.arg == "dtype"), args[-1] if len(args) > 1 else value)  # fmt: skip
    return value
