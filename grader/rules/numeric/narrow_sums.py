"""NUM012: a Triton kernel sums or multiplies in half precision what came as float32."""

import ast
from collections.abc import Iterator

from grader.records import Context, Finding
from grader.records.observed import wrong_results
from grader.rules.rule import Rule
from grader.source import Source
from grader.source.analysis.triton import Kernel, kernels
from grader.source.code_edits import fix, replace

HALVES = frozenset({"triton.language.float16", "triton.language.bfloat16"})


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for accumulators, sums and products in a half type."""
    wrong = wrong_results(context)
    for kernel in kernels(source):
        for node, said in (*_accumulators(source, kernel), *_cast(source, kernel)):
            yield RULE.finding(
                source.place(node),
                said,
                severity="error" if wrong else "warning",
                fixes=fix("stay in float32", [replace(source, node, "tl.float32")]),
                kernels=(kernel.name,),
            )


def _accumulators(source: Source, kernel: Kernel) -> Iterator[tuple[ast.expr, str]]:
    """Yield the types of blocks that start in a half type and are added to."""
    grown = {
        node.target.id
        for node in ast.walk(kernel.node)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)
    }
    for name, values in kernel.assigned.items():
        for value in values:
            if (
                isinstance(value, ast.Call)
                and kernel.language_name(value) in {"zeros", "full"}
                and name in grown
            ):
                for given in (*value.args, *(word.value for word in value.keywords)):
                    if source.full_name(given) in HALVES:
                        yield (
                            given,
                            f"`{name}` sums in half precision: it keeps 11 bits or fewer of each partial sum",
                        )


def _cast(source: Source, kernel: Kernel) -> Iterator[tuple[ast.expr, str]]:
    """Yield the half types to which operands of a sum or a product are cast."""
    for call in kernel.calls("sum", "dot", "cumsum"):
        name = kernel.language_name(call)
        operands = call.args[: 2 if name == "dot" else 1]
        for part in (one for operand in operands for one in ast.walk(operand)):
            if (
                isinstance(part, ast.Call)
                and isinstance(part.func, ast.Attribute)
                and part.func.attr == "to"
            ):
                for given in part.args[:1]:
                    if source.full_name(given) in HALVES:
                        yield (
                            given,
                            f"values are rounded to half precision before `tl.{name}`: three digits of each are left",
                        )


_CODE = """
import torch
import triton
import triton.language as tl

@triton.jit
def sum_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    acc = tl.zeros((BLOCK,), dtype=tl.float16)
    for i in range(0, n, BLOCK):
        cols = i + tl.arange(0, BLOCK)
        acc += tl.load(x_ptr + cols, mask=cols < n, other=0.0).to(tl.float16)
    tl.store(y_ptr, tl.sum(acc, axis=0))

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty((), device=x.device, dtype=torch.float16)
        sum_kernel[(1,)](x, y, x.numel(), BLOCK=1024)
        return y
"""
RULE = Rule(
    code="NUM012",
    name="sums-in-half-precision",
    severity="warning",
    summary="A Triton kernel accumulates in half precision, or rounds to it what it sums or multiplies.",
    why="A half has 11 bits, bfloat16 has 8: in a sum of thousands of terms the small ones get lost. Accumulate in "
    "`tl.float32`, whatever the type of the data, and cast what is stored.",
    bad=_CODE,
    good=_CODE.replace("dtype=tl.float16)", "dtype=tl.float32)"),
    guards="Half operands of `tl.dot` that were loaded as such; an error only where a result was wrong.",
    fix="Takes `tl.float32` instead.",
    check=check,
    predicts="wrong-values",
    languages=("triton",),
)
