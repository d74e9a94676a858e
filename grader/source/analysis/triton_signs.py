"""Values of a Triton kernel that are never negative, as far as the text shows."""

import ast

from grader.source.analysis.triton import Kernel

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
