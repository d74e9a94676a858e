"""PRF016: a Triton kernel multiplies blocks of two operands element by element and sums them up, where `tl.dot` would do."""

import ast
from collections.abc import Iterator

from grader.rules import Context, Finding, Source, rule_of
from grader.source.analysis.triton import Kernel, kernels


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for products of a column block and a row block that are summed over a loop or over the axis between."""
    del context
    for kernel in kernels(source):
        for node in (*_summed_in_loops(kernel), *_summed_over_an_axis(kernel)):
            axes = [_axes(kernel, side) for side in (node.left, node.right)]
            if any(a and b and a != b and len(a) == len(b) for a, b in (axes, axes[::-1])):
                yield RULE.finding(
                    source.place(node),
                    "each element of the result is a sum of products over a common axis, computed one product at a time: "
                    "`tl.dot` on blocks of 16 and more does the same on tensor cores",
                    kernels=(kernel.name,),
                    folded=True,
                )
                break


def _summed_in_loops(kernel: Kernel) -> Iterator[ast.BinOp]:
    """Yield the products that loops accumulate: `acc += a[:, None] * b[None, :]`."""
    for loop in (node for node in ast.walk(kernel.node) if isinstance(node, ast.For)):
        for node in ast.walk(loop):
            added = isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add)
            if added and isinstance(node, ast.AugAssign) and _is_product(node.value):
                yield node.value  # type: ignore[misc]


def _summed_over_an_axis(kernel: Kernel) -> Iterator[ast.BinOp]:
    """Yield the products inside `tl.sum`: `tl.sum(a[:, :, None] * b[None, :, :], axis=1)`."""
    for call in kernel.calls("sum"):
        if call.args and _is_product(call.args[0]):
            yield call.args[0]  # type: ignore[misc]


def _is_product(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)


def _axes(kernel: Kernel, node: ast.expr) -> tuple[bool, ...]:
    """Return the axes that `[:, None]` gives an operand, if it is a loaded block; else none."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Tuple):
        return ()
    loaded = any(kernel.language_name(part) == "load" for part in kernel.made_of(node.value))
    given = tuple(isinstance(part, ast.Slice) for part in node.slice.elts)
    return given if loaded and not all(given) else ()


RULE = rule_of(__file__, check)
