"""NUM011: `tl.dot` rounds float32 operands to TF32."""

import ast
from collections.abc import Iterator

from grader.records import Context, Edit, Finding
from grader.records.observed import wrong_results
from grader.rules.rule import Rule
from grader.source import Source
from grader.source.analysis.triton import Kernel, kernels
from grader.source.code_edits import fix, replace

ROUNDED = "half-precision"
NARROW = frozenset({"float16", "bfloat16", "half"})


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look at each `tl.dot` whose operands stay float32 and whose precision is the default, or TF32."""
    if context.task is not None and not _float32(context):
        return
    seen = tuple(item for item in wrong_results(context) if item.code == ROUNDED)
    for kernel in kernels(source):
        for call in kernel.calls("dot"):
            if _in_tf32(call) and not _narrowed(kernel, call):
                yield RULE.finding(
                    source.place(call),
                    "`tl.dot` multiplies float32 operands as TF32 unless told otherwise: 10 bits of each "
                    'operand are left; `input_precision="ieee"` keeps all'
                    + (f" ({seen[0].text})" if seen else ""),
                    severity="error" if seen else "warning",
                    evidence=seen,
                    fixes=fix("multiply in full float32", [_exact(source, call)]),
                    conditions="a tolerance tighter than TF32's three digits",
                )


def _float32(context: Context) -> bool:
    inputs = (
        (item for workload in context.task.workloads for item in workload.inputs)
        if context.task
        else ()
    )
    return all(getattr(item, "dtype", "float32") == "float32" for item in inputs)


def _word(call: ast.Call, name: str) -> ast.keyword | None:
    return next((word for word in call.keywords if word.arg == name), None)


def _in_tf32(call: ast.Call) -> bool:
    precision, allowed = _word(call, "input_precision"), _word(call, "allow_tf32")
    if precision is not None:
        return isinstance(precision.value, ast.Constant) and precision.value.value == "tf32"
    if allowed is not None:
        return isinstance(allowed.value, ast.Constant) and allowed.value.value is True
    return True


def _narrowed(kernel: Kernel, call: ast.Call) -> bool:
    """Whether the operands are cast to something that isn't float32."""
    for operand in call.args[:2]:
        for part in kernel.made_of(operand):
            if isinstance(part, ast.Attribute) and (
                part.attr in NARROW or part.attr.startswith("float8") or part.attr == "dtype"
            ):
                return True
    return False


def _exact(source: Source, call: ast.Call) -> Edit:
    word = _word(call, "input_precision") or _word(call, "allow_tf32")
    text = source.text(call)
    if word is not None:
        old = source.text(word)
        return replace(source, call, text.replace(old, 'input_precision="ieee"'))
    return replace(source, call, text[:-1].rstrip().rstrip(",") + ', input_precision="ieee")')


_CODE = """
import torch
import triton
import triton.language as tl

@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, K, B: tl.constexpr):
    r = tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, K, B):
        a = tl.load(a_ptr + r[:, None] * K + k + r[None, :])
        b = tl.load(b_ptr + (k + r[:, None]) * B + r[None, :])
        acc += tl.dot(a, b)
    tl.store(c_ptr + r[:, None] * B + r[None, :], acc)

class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        c = torch.empty((32, 32), device=a.device)
        matmul_kernel[(1,)](a, b, c, a.shape[1], B=32)
        return c
"""
RULE = Rule(
    code="NUM011",
    name="dot-in-tf32",
    severity="warning",
    summary="`tl.dot` rounds float32 operands to TF32, which keeps about three digits.",
    why="On GPUs with TF32 units Triton's default for float32 operands is `tf32`. PyTorch's own "
    "products are exact float32 unless `torch.backends.cuda.matmul.allow_tf32` is set. Ask for `ieee`, or for `tf32x3`, "
    "which is nearly as exact on tensor cores.",
    bad=_CODE,
    good=_CODE.replace("tl.dot(a, b)", 'tl.dot(a, b, input_precision="ieee")'),
    detects=("text", "evidence"),
    guards="Operands that are cast to a shorter type on purpose; an error only where results were wrong in just the "
    "way that rounding makes them.",
    fix='Adds `input_precision="ieee"`.',
    check=check,
    predicts="wrong-values",
    languages=("triton",),
)
