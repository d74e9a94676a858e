"""NUM013: a Triton kernel sums exponentials without taking the maximum off."""

import ast
from collections.abc import Iterator

from grader.records import Context, Finding, Fix
from grader.records.observed import wrong_results
from grader.rules.rule import Rule
from grader.source import Source
from grader.source.analysis.triton import Kernel, kernels
from grader.source.code_edits import fix, replace

LARGEST = frozenset({"max", "maximum"})


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Follow each sum back to exponentials, and these back to a maximum."""
    wrong = wrong_results(context)
    for kernel in kernels(source):
        seen: set[int] = set()
        for total in kernel.calls("sum"):
            for call in _exponentials(kernel, total):
                if id(call) not in seen and call.args and not _lowered(kernel, call.args[0]):
                    seen.add(id(call))
                    yield RULE.finding(
                        source.place(call),
                        f"`tl.sum` on line {total.lineno} adds exponentials as they are: from an input of 89 on "
                        "that is infinity, and the result NaN; subtract the row's maximum first",
                        severity="error" if wrong else "warning",
                        fixes=tuple(_fixes(source, call, total)),
                        kernels=(kernel.name,),
                        conditions="inputs from 89 on",
                    )


def _exponentials(kernel: Kernel, total: ast.Call) -> Iterator[ast.Call]:
    for operand in total.args[:1]:
        for part in kernel.made_of(operand):
            if isinstance(part, ast.Call) and kernel.language_name(part) == "exp":
                yield part


def _lowered(kernel: Kernel, value: ast.expr) -> bool:
    """Whether a maximum, or what is no input, is taken off somewhere behind the exponent."""
    for part in kernel.made_of(value):
        if isinstance(part, ast.Call) and kernel.language_name(part) in LARGEST | {
            "minimum",
            "min",
            "abs",
        }:
            return True
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Sub):
            return True
        if (
            isinstance(part, ast.UnaryOp)
            and isinstance(part.op, ast.USub)
            and not isinstance(part.operand, ast.Call | ast.Constant)
        ):
            return True
    return False


def _fixes(source: Source, call: ast.Call, total: ast.Call) -> Iterator[Fix]:
    value = source.text(call.args[0])
    axis = next((source.text(w.value) for w in total.keywords if w.arg == "axis"), "")
    axis = axis or (source.text(total.args[1]) if len(total.args) > 1 else "0")
    keep = ", keep_dims=True" if axis != "0" else ""
    edit = replace(source, call.args[0], f"{value} - tl.max({value}, axis={axis}{keep})")
    yield from fix("subtract the maximum", [edit])


_CODE = """
import torch
import triton
import triton.language as tl

@triton.jit
def softmax_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    row = tl.program_id(0) * n
    x = tl.load(x_ptr + row + cols, mask=cols < n, other=-float("inf"))
    e = tl.exp(x)
    tl.store(y_ptr + row + cols, e / tl.sum(e, axis=0), mask=cols < n)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        softmax_kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
        return y
"""
RULE = Rule(
    code="NUM013",
    name="exponentials-summed-raw",
    severity="warning",
    summary="A Triton kernel sums exponentials without subtracting the maximum first.",
    why="`exp(89)` is larger than any float32. A softmax or log-sum-exp of larger inputs is NaN, though its result "
    "is an ordinary number: subtracting the row's maximum changes nothing else.",
    bad=_CODE,
    good=_CODE.replace("tl.exp(x)", "tl.exp(x - tl.max(x, axis=0))"),
    guards="Exponents behind any difference, negation, minimum or maximum.",
    fix="Subtracts the block's maximum.",
    check=check,
    predicts="elsewhere",
    languages=("triton",),
)
