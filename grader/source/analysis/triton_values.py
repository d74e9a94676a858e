"""The type and the sign of a value in a Triton kernel, as far as the text shows."""

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


NEVER_NEGATIVE = frozenset({"abs", "exp", "exp2", "sqrt", "rsqrt", "sigmoid", "zeros"})
"""Functions of `tl` whose result has no sign."""
KEEPS_THE_SIGN = (ast.Add, ast.Mult, ast.Div)


def is_never_negative(kernel: Kernel, node: ast.expr, seen: frozenset[str] = frozenset()) -> bool:
    """Whether a value is 0 or more for any loaded values: a size, a square, an exponential, or sums of such."""

    def of(part: ast.expr) -> bool:
        return is_never_negative(kernel, part, seen)

    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float) and node.value >= 0
    if isinstance(node, ast.Name):
        values = kernel.assigned.get(node.id, ()) if node.id not in seen else ()
        more = seen | {node.id}
        return bool(values) and all(is_never_negative(kernel, one, more) for one in values)
    if isinstance(node, ast.BinOp):
        square = isinstance(node.op, ast.Mult) and ast.dump(node.left) == ast.dump(node.right)
        return square or (isinstance(node.op, KEEPS_THE_SIGN) and of(node.left) and of(node.right))
    if isinstance(node, ast.Call):
        name = kernel.language_name(node)
        cast = isinstance(node.func, ast.Attribute) and node.func.attr == "to"
        if name == "maximum":
            return any(of(part) for part in node.args)
        return name in NEVER_NEGATIVE or (cast and of(node.func.value))  # type: ignore[attr-defined]
    return False
