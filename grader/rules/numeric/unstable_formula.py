"""NUM008: a formula overflows or loses digits where PyTorch's does not."""

import ast
import re
from collections.abc import Iterator

from grader.records.observed import values_of, wrong_results
from grader.rules import Context, Evidence, Finding, Fix, Source, Unit, fix, rule_of
from grader.source import Function, cpp
from grader.source.analysis import triton
from grader.source.analysis.reference_text import Reference, reference_of
from grader.source.code_edits import replace

BOUNDED = frozenset({"max", "maximum", "min", "minimum", "abs"})
"""What Triton's exponents may come from: a value without an upper end is none of these."""
OVERFLOWS = "from an input of 89 on it is infinity, and the result NaN; subtract the row's maximum first"  # fmt: skip
OWN_TANH = re.compile(r"approximate\s*=\s*.tanh|0\.044715")
"""A reference that takes GELU's tanh form itself."""
CUBIC = 0.044715
"""The factor of the cube in GELU's tanh form."""
TANH_ERROR = 5e-3
"""Ten times what GELU's tanh form is off by: a norm after it divides by a small deviation."""


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for Triton sums of exponentials without a maximum, the tanh form of GELU, and fast mathematics."""
    reference = reference_of(source, context)
    for unit in source.cuda:
        for function in unit.functions:
            if function.runs != "host":
                yield from _gelu(unit, function, reference, context)
    yield from _in_triton(source, wrong=bool(wrong_results(context)))
    for extension in source.extensions:
        if any("use_fast_math" in flag for flag in extension.cuda_cflags or ()):
            yield RULE.finding(
                source.place(extension.keywords["extra_cuda_cflags"]),
                "--use_fast_math takes approximate divisions, roots and exponentials: fine at 1e-4, not bit by bit",
                severity="note",
                confidence="possible",
            )


def _in_triton(source: Source, *, wrong: bool) -> Iterator[Finding]:
    """Follow each sum of a Triton kernel back to exponentials, and these back to a maximum."""
    for kernel in triton.kernels(source):
        seen: set[ast.AST] = set()
        for total in kernel.calls("sum"):
            made = [part for operand in total.args[:1] for part in kernel.made_of(operand)]
            calls = (part for part in made if isinstance(part, ast.Call) and part.args)
            for call in (one for one in calls if kernel.language_name(one) == "exp"):
                if call not in seen and not any(
                    _is_lowered(kernel, part) for part in kernel.made_of(call.args[0])
                ):
                    seen.add(call)
                    yield RULE.finding(
                        source.place(call),
                        f"`tl.sum` on line {total.lineno} adds exponentials as they are: {OVERFLOWS}",
                        severity="error" if wrong else "warning",
                        fixes=_less_the_maximum(source, call, total),
                        kernels=(kernel.name,),
                        conditions="inputs from 89 on",
                    )


def _is_lowered(kernel: triton.Kernel, part: ast.AST) -> bool:
    """Whether a maximum, or a value that isn't an input, is subtracted in a part of an exponent."""
    match part:
        case ast.Call():
            return kernel.language_name(part) in BOUNDED
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return not isinstance(operand, ast.Call | ast.Constant)
    return isinstance(part, ast.BinOp) and isinstance(part.op, ast.Sub)


def _less_the_maximum(source: Source, call: ast.Call, total: ast.Call) -> tuple[Fix, ...]:
    value = source.text(call.args[0])
    given = [*total.args[1:2], *(word.value for word in total.keywords if word.arg == "axis")]
    axis = source.text(given[-1]) if given else "0"
    keep = ", keep_dims=True" if axis != "0" else ""
    edit = replace(source, call.args[0], f"{value} - tl.max({value}, axis={axis}{keep})")
    return fix("subtract the maximum", [edit])


def _gelu(
    unit: Unit, function: Function, reference: Reference | None, context: Context
) -> Iterator[Finding]:
    """Report GELU's tanh form where the reference uses the exact one."""
    if reference is None or not reference.has("GELU", "gelu") or OWN_TANH.search(reference.text):
        return
    wrong = [item for item in wrong_results(context) if item.kind == "mismatch"]
    shown = wrong if all(_is_small(item) for item in wrong) else []
    numbers = (part for part in cpp.walk(function.code) if isinstance(part, cpp.Number))
    for part in [one for one in numbers if abs(float(one.value) - CUBIC) < 1e-6][:1]:
        yield RULE.finding(
            unit.place(part.node),
            "this is GELU's tanh approximation; the reference takes the exact form with erf, up to 5e-4 apart",
            severity="error" if shown else None,
            confidence="likely",
            evidence=shown,
        )


def _is_small(item: Evidence) -> bool:
    """Whether GELU's tanh form, possibly amplified by a later norm, can explain all errors."""
    error = values_of(item).max_error
    few = error is not None and error < TANH_ERROR
    return item.code == "half-precision" or (item.code == "values" and few)


RULE = rule_of(__file__, check, predicts="elsewhere")
