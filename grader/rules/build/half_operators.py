"""BLD012: arithmetic on __half, which PyTorch's build flags switch off."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.records import Context
from grader.rules.rule import Rule
from grader.source.analysis.diagnostics import confirming
from grader.source.code_edits import fix, replace_node
from grader.source.cpp_types import canonical, type_of
from grader.source.cuda_code import cuda_code, one_line, read_call, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from grader.records import Finding, Fix
    from grader.source import Extension, Source, Unit

HALF = {"half", "half2"}
LIFTED = ("-U__CUDA_NO_HALF_OPERATORS__", "-U__CUDA_NO_HALF_CONVERSIONS__")
ARITHMETIC = {"+", "-", "*", "/", "<", ">", "<=", ">=", "==", "!="}
KINDS = ("no-operator", "no-conversion", "no-overload")
WIDE = {"float", "double", "int", "long"}


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for operators and conversions on values of type __half."""
    for extension in source.extensions:
        if _lifted(extension):
            continue
        for unit in extension.cuda:
            if "half" in unit.text:
                yield from _unit(unit, context)


def _unit(unit: Unit, context: Context) -> Iterator[Finding]:
    code = cuda_code(unit)
    seen: set[int] = set()
    for node in code.of(
        "binary_expression",
        "assignment_expression",
        "cast_expression",
        "call_expression",
        "init_declarator",
    ):
        what = _misuse(unit, node)
        line = node.start_point[0]
        if what is None or line in seen:
            continue
        seen.add(line)
        place = unit.place(node)
        evidence = confirming(context, KINDS, lines=(place.line,))
        yield RULE.finding(
            place,
            f"{what}: PyTorch compiles with the operators and conversions of __half switched off, "
            "so the build stops here",
            confidence="proven" if evidence else "likely",
            evidence=evidence,
            fixes=_fixes(unit, node),
        )


def _misuse(unit: Unit, node: Node) -> str | None:
    """Return what is wrong with an expression, or None."""
    match node.type:
        case "binary_expression":
            operator = text(node.child_by_field_name("operator"))
            sides = [type_of(unit, node.child_by_field_name(side)) for side in ("left", "right")]
            if operator in ARITHMETIC and HALF & set(sides):
                return f"`{one_line(node)}` uses {operator} on __half"
        case "assignment_expression":
            operator = text(node.child_by_field_name("operator"))
            left = type_of(unit, node.child_by_field_name("left"))
            right = type_of(unit, node.child_by_field_name("right"))
            if operator != "=" and left in HALF:
                return f"`{one_line(node)}` uses {operator} on __half"
            if operator == "=" and (
                (left == "half" and right in WIDE) or (right == "half" and left in WIDE)
            ):
                return f"`{one_line(node)}` converts {right} to {left} without a call"
        case "cast_expression":
            target = canonical(text(node.child_by_field_name("type")))
            if _crosses(target, type_of(unit, node.child_by_field_name("value"))):
                return f"`{one_line(node)}` converts to {target} by a cast"
        case "call_expression":
            call = read_call(node)
            target = canonical(call.template if call.last == "static_cast" else call.name)
            converts = len(call.arguments) == 1 and call.object is None and target in WIDE | HALF
            if converts and _crosses(target, type_of(unit, call.arguments[0])):
                return f"`{one_line(node)}` converts to {target} by a cast"
        case _:
            return None
    return None


def _crosses(target: str | None, origin: str | None) -> bool:
    return (target in WIDE and origin == "half") or (target == "half" and origin == "double")


def _fixes(unit: Unit, node: Node) -> tuple[Fix, ...]:
    if node.type != "binary_expression":
        return ()
    sides = []
    for name in ("left", "right"):
        side = node.child_by_field_name(name)
        kind = type_of(unit, side)
        if kind not in {"half", "float", "int"}:
            return ()
        sides.append(f"__half2float({text(side)})" if kind == "half" else text(side))
    operator = text(node.child_by_field_name("operator"))
    expression = f"{sides[0]} {operator} {sides[1]}"
    comparing = operator in {"<", ">", "<=", ">=", "==", "!="}
    new = expression if comparing else f"__float2half({expression})"
    return fix("compute in float", [replace_node(unit, node, new)])


def _lifted(extension: Extension) -> bool:
    """Whether flags switch the operators back on, or can't be read."""
    return extension.cuda_cflags is None or any(
        flag.replace(" ", "").startswith(LIFTED) for flag in extension.cuda_cflags
    )


RULE = Rule(
    code="BLD012",
    name="half-operators",
    severity="error",
    summary="Half precision values are combined with operators that PyTorch's build flags switch "
    "off.",
    why="torch passes -D__CUDA_NO_HALF_OPERATORS__ and -D__CUDA_NO_HALF_CONVERSIONS__ to nvcc. "
    "Convert with __half2float and __float2half, use __hadd and the like, or compute in float.",
    bad="""
#include <torch/extension.h>
#include <cuda_fp16.h>
__global__ void k(half* y, const half* a, const half* b) {
    int i = threadIdx.x;
    y[i] = a[i] * b[i];
}
""",
    good=(
        """
#include <torch/extension.h>
#include <cuda_fp16.h>
__global__ void k(__half* y, const __half* a, float half_width) {
    float t = __half2float(a[threadIdx.x]);
    float half = half_width * 0.5f;
    y[threadIdx.x] = __float2half(t * t + half);
    y[0] = __hmul(a[0], a[1]);
}
""",
        '''
import torch
from torch.utils.cpp_extension import load_inline
src = """
#include <cuda_fp16.h>
__global__ void k(half* y, const half* a) { y[0] = a[0] * a[1]; }
"""
ext = load_inline(name="e", cpp_sources="", cuda_sources=src, functions=[],
                  extra_cuda_cflags=["-U__CUDA_NO_HALF_OPERATORS__"])
''',
    ),
    detects=("text", "build"),
    languages=("cuda",),
    guards="at::Half and scalar_t have operators of their own. Flags that undefine the macros lift "
    "it. The header cuda_fp16.h comes in through torch and is not asked for.",
    fix="Computes the expression in float.",
    check=check,
)
