"""BLD011: min or max of two different types."""

from __future__ import annotations

from collections.abc import Iterator

from grader.records import Context, Finding, Fix
from grader.rules.rule import Rule
from grader.source import Source, Unit
from grader.source.analysis.diagnostics import confirming
from grader.source.code_edits import fix
from grader.source.cpp_types import type_of
from grader.source.cuda_code import Call, cuda_code, text, units

SPELLED = {"long": "int64_t", "ulong": "size_t", "ll": "long long", "ull": "unsigned long long"}
RANK = ("int", "unsigned", "long", "ulong", "ll", "ull", "float", "double")
TOGETHER = ({"int", "unsigned"}, {"long", "ulong"}, {"ll", "ull"}, {"float", "double"})
"""Pairs for which CUDA has a version of the unqualified min and max; checked with nvcc 13."""
KINDS = ("no-overload", "ambiguous-call")


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Compare the types of the two arguments of each min and max."""
    for unit in units(source):
        if _own(unit):
            continue
        for call in cuda_code(unit).calls:
            if call.name in {"std::min", "std::max", "min", "max"} and call.object is None:
                yield from _call(unit, call, context)


def _call(unit: Unit, call: Call, context: Context) -> Iterator[Finding]:
    if call.template or len(call.arguments) != 2:
        return
    first, second = (type_of(unit, argument) for argument in call.arguments)
    if first not in RANK or second not in RANK or first == second:
        return
    qualified = call.name.startswith("std::")
    if not qualified and any({first, second} == pair for pair in TOGETHER):
        return
    place = unit.place(call.node)
    evidence = confirming(context, KINDS, lines=(place.line,))
    names = [
        f"{text(one)} is {SPELLED.get(kind, kind)}"
        for one, kind in zip(call.arguments, (first, second), strict=True)
    ]
    yield RULE.finding(
        place,
        f"{call.name} takes two values of one type, but {names[0]} and {names[1]}: "
        + ("no version fits" if qualified else "several versions fit equally well")
        + ", and the build stops",
        evidence=evidence,
        fixes=_fixes(unit, call, first, second),
    )


def _fixes(unit: Unit, call: Call, first: str, second: str) -> tuple[Fix, ...]:
    wider = max(first, second, key=RANK.index)
    spelled = SPELLED.get(wider, wider)
    if call.name.startswith("std::") and not cuda_code(unit).in_device_code(call.node):
        callee = call.node.child_by_field_name("function")
        at = callee.end_byte if callee is not None else call.node.start_byte
        return fix(f"compare them as {spelled}", [unit.edit(at, at, f"<{spelled}>")], certain=True)
    edits = [
        unit.edit(
            argument.start_byte, argument.end_byte, f"static_cast<{spelled}>({text(argument)})"
        )
        for argument, kind in zip(call.arguments, (first, second), strict=True)
        if kind != wider
    ]
    return fix(f"compare them as {spelled}", edits, certain=True)


def _own(unit: Unit) -> bool:
    """Whether the text defines min or max itself."""
    code = cuda_code(unit)
    macros = {text(node.child_by_field_name("name")) for node in code.of("preproc_function_def")}
    return bool(({"min", "max"} & macros) | {f.name for f in unit.functions} & {"min", "max"})


RULE = Rule(
    code="BLD011",
    name="min-max-mixed-types",
    severity="error",
    summary="min or max gets values of two types, such as an int and an int64_t, so no version of the function matches.",
    why="std::min is a template with a single type for both arguments, and sizes of tensors are "
    "64 bits wide. CUDA's own min has versions for some pairs only. Name the type, or cast.",
    bad=(
        "torch::Tensor f(torch::Tensor x) {\n    int b = std::min(x.size(0), 256);\n    return "
        "x;\n}"
    ),
    good="""
__global__ void k(const float* x, float* y, int n, unsigned m) {
    int last = min(n, m);
    y[threadIdx.x] = max(x[threadIdx.x], 0.0f) * min(n, 256) + fmaxf(x[0], 0);
}
torch::Tensor f(torch::Tensor x) {
    int features = x.size(0);
    const int b = std::min(features, 256);
    auto c = std::min<int64_t>(x.size(1), 256);
    auto d = std::max(x.size(1), static_cast<int64_t>(1));
    auto e = std::min(unknown(), 3);
    return x;
}
""",
    detects=("text", "build"),
    languages=("cuda",),
    guards="Only where both types are sure; the pairs for which CUDA has a version are known.",
    fix="Names the wider type, or casts the narrower argument to it.",
    check=check,
)
