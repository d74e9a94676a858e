"""The fix of a product of too few digits: of each factor a half and what it lacks, three products in the place of one.

Ootomo and Yokota, "Recovering single precision accuracy from Tensor Cores while surpassing the FP32
theoretical peak performance" (2022): the low part is scaled, so that it keeps its digits as a half.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from grader.records import Context, Edit, Finding, Fix
from grader.repair.fixes.maker import FixMaker
from grader.source import nodes_under
from grader.source.analysis.narrowed import narrowed
from grader.source.analysis.reference_text import Reference, last_name, reference_of
from grader.source.code_edits import fix
from grader.source.python_code import python_code

if TYPE_CHECKING:
    from grader.source import Source

NAME = "product_of_halves"
LINEAR = {
    "matmul",
    "mm",
    "bmm",
    "einsum",
    "transpose",
    "t",
    "permute",
    "contiguous",
    "triu",
    "tril",
    "reshape",
    "view",
}
"""What a function of two factors may be made of that is linear in each of them."""
SPLIT = '''


    def forward(self, {a}, {b}):
        """The product to more digits than a half has: of each factor its half, and what that lacks, scaled."""
        factors = ({a}, {b})
        high = [factor.half().to(factor.dtype) for factor in factors]
        low = [(factor - half) * 2048 for factor, half in zip(factors, high)]
        mixed = self.{name}(high[0], low[1]) + self.{name}(low[0], high[1])
        return self.{name}(*high) + mixed / 2048'''


def in_halves(source: Source, reference: Reference | None) -> tuple[Fix, ...]:
    """Return the fix that makes a product of two tensors of three products of halves, and of their rests."""
    code = python_code(source)
    forward = code.method("forward") if code is not None else None
    if reference is None or forward is None or forward.decorator_list or not _is_product(reference):
        return ()
    given = forward.args
    names = [one.arg for one in given.args[1:]]
    if len(names) != 2 or given.kwonlyargs or given.vararg or given.kwarg:
        return ()
    start, end = source.span(forward)
    at = source.code.index("forward", start)
    text = SPLIT.format(a=names[0], b=names[1], name=NAME).lstrip("\n").rstrip()
    indent = " " * forward.col_offset
    lines = [f"{indent}{line[4:]}" if line.strip() else "" for line in text.split("\n")]
    return fix(
        "make the product of halves and of what they lack",
        [
            Edit(start=at, end=at + len("forward"), text=NAME),
            Edit(start=end, end=end, text="\n\n" + "\n".join(lines)),
        ],
    )


def _is_product(reference: Reference) -> bool:
    """Whether the reference's `forward` is linear in each of two tensors."""
    forward = next(
        (
            n
            for n in nodes_under(reference.tree)
            if isinstance(n, ast.FunctionDef) and n.name == "forward"
        ),
        None,
    )
    if forward is None or len(forward.args.args) != 3:
        return False
    nodes = list(nodes_under(forward))
    called = {last_name(node.func) for node in nodes if isinstance(node, ast.Call)}
    operators = [node.op for node in nodes if isinstance(node, ast.BinOp)]
    return (
        called <= LINEAR
        and all(isinstance(operator, ast.MatMult) for operator in operators)
        and bool(operators or called & {"matmul", "mm", "bmm", "einsum"})
    )


__all__ = ["in_halves"]


ROUNDED = "half-precision"
"""Code of evidence: all that is wrong is wrong in its last digits."""


def propose(finding: Finding, source: Source, context: Context) -> tuple[Fix, ...]:
    """Return the fix where digits are all that lacks, and the program narrows its values."""
    rounded = all(item.code == ROUNDED for item in finding.evidence)
    return in_halves(source, reference_of(source, context)) if rounded and narrowed(source) else ()


FIX = FixMaker(codes=("NUM001",), propose=propose)
