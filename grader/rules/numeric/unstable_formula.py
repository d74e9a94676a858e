"""NUM008: a formula overflows or loses digits where PyTorch's does not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import log

from grader.records import Context, Evidence, Finding, Task
from grader.records.observed import values_of, wrong_results
from grader.rules.rule import Example, Rule
from grader.source import Source, Unit
from grader.source.analysis.reference_text import reference_of
from grader.source.cuda_code import one_line
from grader.source.flow import flow
from grader.source.flow.program import Function
from grader.source.flow.tree import (
    Assign,
    Binary,
    Call,
    Declare,
    Expr,
    Loop,
    Name,
    Number,
    Select,
    Subscript,
    Unary,
    walk,
)

EXP = frozenset({"exp", "expf", "__expf"})
LOG = frozenset({"log", "logf", "__logf"})
MAX = frozenset({"max", "fmax", "fmaxf"})
MOST_EPSILON = 1e-4
_OWN_TANH = re.compile(r"approximate\s*=\s*.tanh|0\.044715")
"""A reference that takes GELU's tanh form itself."""
TANH = frozenset({"tanh", "tanhf", "__tanhf"})
CUBIC = 0.044715
"""The factor of the cube in GELU's tanh form."""
TANH_ERROR = 5e-3
"""Ten times what GELU's tanh form is off by: a norm after it divides by a small deviation."""


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for sums of exponentials without a maximum, log(1 + exp(x)), and logarithms that are cut off."""
    for unit in source.cuda:
        program = flow(unit).program
        for function in program.functions:
            if function.kind != "host":
                yield from _exponentials(unit, function)
                yield from _softplus(unit, function)
                yield from _logarithm(unit, function, source, context)
                yield from _gelu(unit, function, source, context)
    for extension in source.extensions:
        if any("use_fast_math" in flag for flag in extension.cuda_cflags or ()):
            yield RULE.finding(
                source.place(extension.keywords["extra_cuda_cflags"]),
                "--use_fast_math takes approximate divisions, roots and exponentials: fine at 1e-4, not bit by bit",
                severity="note",
                confidence="possible",
            )


def _exponentials(unit: Unit, function: Function) -> Iterator[Finding]:
    if any(isinstance(p, Call) and p.name in MAX for p in walk(function.body)):
        return
    for loop in walk(function.body):
        for part in walk(loop.body) if isinstance(loop, Loop) else ():
            if isinstance(part, Assign) and part.op == "+=":
                call = part.value
                if isinstance(call, Call) and call.name in EXP and _raw(function, call.args):
                    yield RULE.finding(
                        unit.place(part.node),
                        f"`{one_line(part.node, 50)}` sums exponentials as they are: from an input of 89 on it is infinity, and the "
                        "result NaN; subtract the row's maximum first",
                    )
                    return


def _raw(function: Function, args: tuple[Expr, ...]) -> bool:
    """Whether an exponential is taken of a value as it was loaded."""
    for arg in args:
        if any(
            isinstance(p, Binary | Unary) and p.op == "-"
            for p in walk(arg)
            if not _in_index(arg, p)
        ):
            return False
        if isinstance(arg, Name):
            for part in walk(function.body):
                if isinstance(part, Declare) and part.name == arg.id and part.init is not None:
                    return isinstance(part.init, Subscript)
            return False
        if not isinstance(arg, Subscript):
            return False
    return True


def _in_index(arg: Expr, part: Expr | object) -> bool:
    return isinstance(arg, Subscript) and any(p is part for p in walk(arg.index))


def _softplus(unit: Unit, function: Function) -> Iterator[Finding]:
    for part in walk(function.body):
        if not isinstance(part, Call) or part.name not in LOG or len(part.args) != 1:
            continue
        inner = part.args[0]
        if isinstance(inner, Binary) and inner.op == "+":
            sides = (inner.left, inner.right)
            one = any(isinstance(s, Number) and s.value == 1 for s in sides)
            grows = [s for s in sides if isinstance(s, Call) and s.name in EXP]
            calm = any(_calm(a) for s in grows for a in s.args)
            tested = any(isinstance(p, Select) for p in walk(function.body)) or b">" in (
                function.node.text or b""
            )
            if one and grows and not calm and not tested and not _under_tanh(function, part):
                yield RULE.finding(
                    unit.place(part.node),
                    f"`{one_line(part.node, 50)}` overflows from an input of 89 on; softplus is x there, and log1p is exact for small ones",
                )


def _logarithm(
    unit: Unit, function: Function, source: Source, context: Context
) -> Iterator[Finding]:
    """Look for log(p + epsilon) of a probability that the same function makes of exponentials."""
    reference = reference_of(source, context)
    parts = list(walk(function.body))
    if reference is None or not reference.has(
        "cross_entropy", "CrossEntropy", "log_softmax", "LogSoftmax"
    ):
        return
    if not any(isinstance(part, Call) and part.name in EXP for part in parts):
        return
    for part in parts:
        if isinstance(part, Call) and part.name in LOG and len(part.args) == 1:
            inner = part.args[0]
            sides = (
                (inner.left, inner.right) if isinstance(inner, Binary) and inner.op == "+" else ()
            )
            least = next((float(s.value) for s in sides if isinstance(s, Number)), 0.0)
            if 0 < least <= MOST_EPSILON:
                yield RULE.finding(
                    unit.place(part.node),
                    f"`{one_line(part.node, 50)}` never goes below {log(least):.1f}: a rarer class than that comes out "
                    "wrong; x - max - log(sum) is exact everywhere",
                )
                return


def _under_tanh(function: Function, softplus: Call) -> bool:
    """Whether only tanh sees the value, as in Mish: it makes 1 of infinity, and 0 of what is lost."""
    if any(_holds(call, softplus) for call in _tanhs(function)):
        return True
    parts = list(walk(function.body))
    name = next((p.name for p in parts if isinstance(p, Declare) and p.init is softplus), None)
    inside = {id(p) for call in _tanhs(function) for a in call.args for p in walk(a)}
    uses = [p for p in parts if isinstance(p, Name) and p.id == name]
    return name is not None and bool(uses) and all(id(use) in inside for use in uses)


def _tanhs(function: Function) -> Iterator[Call]:
    return (p for p in walk(function.body) if isinstance(p, Call) and p.name in TANH)


def _holds(call: Call, part: Call) -> bool:
    return any(p is part for arg in call.args for p in walk(arg))


def _calm(arg: Expr) -> bool:
    """Whether an exponent can't be large: -|x|, or a difference."""
    return isinstance(arg, Unary | Binary)


def _gelu(unit: Unit, function: Function, source: Source, context: Context) -> Iterator[Finding]:
    reference = reference_of(source, context)
    if reference is None or not reference.has("GELU", "gelu") or _OWN_TANH.search(reference.text):
        return
    wrong = [item for item in wrong_results(context) if item.kind == "mismatch"]
    shows = bool(wrong) and all(_is_small(item) for item in wrong)
    for part in walk(function.body):
        if isinstance(part, Number) and abs(float(part.value) - CUBIC) < 1e-6:
            yield RULE.finding(
                unit.place(part.node),
                "this is GELU's tanh approximation; the reference takes the exact form with erf, up to 5e-4 apart",
                severity="error" if shows else None,
                confidence="likely",
                evidence=wrong if shows else (),
            )
            return


def _is_small(item: Evidence) -> bool:
    """Whether GELU's tanh form, or what a norm after it makes of it, can be all that is wrong."""
    error = values_of(item).max_error
    few = error is not None and error < TANH_ERROR
    return item.code == "half-precision" or (item.code == "values" and few)


_LOSS = """
__global__ void loss(const float* x, float* p, float* y, int n, int t) {
    float m = -INFINITY, s = 0.0f;
    for (int i = 0; i < n; ++i) m = fmaxf(m, x[i]);
    for (int i = 0; i < n; ++i) s += expf(x[i] - m);
    for (int i = 0; i < n; ++i) p[i] = expf(x[i] - m) / s;
    y[0] = -logf(p[t] + 1e-8f);
}
"""
_CROSS_ENTROPY = Context(
    task=Task(
        name="t",
        title="t",
        source="file",
        reference="class Model(nn.Module):\n    def forward(self, x, t):\n        return F.cross_entropy(x, t)\n",
        workloads=(),
    )
)

RULE = Rule(
    code="NUM008",
    name="unstable-or-inexact-formula",
    severity="warning",
    summary="The formula overflows or loses accuracy where PyTorch's version stays exact.",
    why="expf overflows at 89: a softmax has to subtract the row's maximum, softplus to return x for large x; a logarithm of a "
    "probability is x - max - log(sum), and log(p + 1e-8) ends at -18.4. An approximation that the reference does not use differs "
    "from it by more than rounding.",
    bad="""
__global__ void softmax(const float* x, float* y, int n) {
    float s = 0.0f;
    for (int i = 0; i < n; ++i) s += expf(x[i]);
    for (int i = 0; i < n; ++i) y[i] = expf(x[i]) / s;
}
""",
    good=Example(_LOSS.replace("logf(p[t] + 1e-8f)", "(x[t] - m - logf(s))"), _CROSS_ENTROPY),
    detects=("text",),
    languages=("cuda",),
    guards="Only exponentials of values as they were loaded, in functions that take no maximum; a softplus that only tanh sees (Mish) is "
    "right at both ends. A logarithm with an epsilon is named where the reference is a cross entropy or log-softmax. Fast math is "
    "a note.",
    fix="Takes GELU's exact form in the place of the tanh one.",
    check=check,
    predicts="elsewhere",
)
