"""API002: a host function takes tensors as they come."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tree_sitter import Node

from grader.records import Context, Finding
from grader.rules.rule import Rule
from grader.source import Function, Source, Unit
from grader.source.cuda_code import cuda_code, text
from grader.source.python_code import python_code

DEVICE = {"is_cuda", "device", "get_device", "is_privateuseone", "device_type"}
LAYOUT = {"is_contiguous", "contiguous", "stride", "strides", "is_non_overlapping_and_dense"}
TYPE = {"scalar_type", "dtype", "expect_contiguous"}


def check(source: Source, _context: Context) -> Iterator[Finding]:
    """List what each host function with a data pointer does not check."""
    layout_in_python = _contiguous_in_python(source)
    for unit in source.cuda:
        for function in unit.host_functions:
            tensors = [
                one
                for one in function.parameters
                if one.type.replace("&", "").replace("const", "").strip().endswith("Tensor")
            ]
            if tensors and _takes_pointers(unit, function):
                yield from _function(unit, function, layout_in_python=layout_in_python)


def _function(unit: Unit, function: Function, *, layout_in_python: bool) -> Iterator[Finding]:
    asked = _asked(unit, function)
    untyped = any(
        call.name in {"data_ptr", "mutable_data_ptr", "const_data_ptr"} and not call.template
        for call in cuda_code(unit).calls_under(function.node)
    )
    missing = [
        what
        for what, found in (
            ("device", asked & DEVICE),
            ("memory layout", asked & LAYOUT or layout_in_python),
            ("dtype", asked & TYPE or not untyped),
        )
        if not found
    ]
    if missing:
        parameter = function.parameters[0]
        yield RULE.finding(
            unit.place(parameter.node),
            f"{function.name} does not check the {' and '.join(missing)} of its inputs: a wrong "
            "call crashes or gives wrong numbers instead of a message",
            folded=True,
        )


def _asked(unit: Unit, function: Function) -> set[str]:
    """Return what a function asks of tensors, also through macros and helpers of the text."""
    code = cuda_code(unit)
    asked = {call.last for call in code.calls_under(function.node)}
    by_name = {one.name: one for one in unit.host_functions}
    for name in set(asked):
        if name in by_name and by_name[name] is not function:
            asked |= {call.last for call in code.calls_under(by_name[name].node)}
    for node in code.of("preproc_function_def"):
        if text(node.child_by_field_name("name")) in asked:
            asked |= _macro_words(unit, node)
    return asked


def _macro_words(unit: Unit, node: Node) -> set[str]:
    words = set(re.findall(r"\w+", text(node.child_by_field_name("value"))))
    for other in cuda_code(unit).of("preproc_function_def"):
        if other != node and text(other.child_by_field_name("name")) in words:
            words |= set(re.findall(r"\w+", text(other.child_by_field_name("value"))))
    return words


def _takes_pointers(unit: Unit, function: Function) -> bool:
    return any(
        call.name in {"data_ptr", "data", "mutable_data_ptr", "const_data_ptr"}
        for call in cuda_code(unit).calls_under(function.node)
    ) and any(launch.host_function is function for launch in unit.launches)


def _contiguous_in_python(source: Source) -> bool:
    code = python_code(source)
    return code is not None and any(
        isinstance(call.func, ast.Attribute) and call.func.attr == "contiguous"
        for _, call in code.calls
        if code.runs_in_forward(call)
    )


_BAD = """
__global__ void k(float* y) { y[threadIdx.x] = 1.0f; }
torch::Tensor f(torch::Tensor x) {
    k<<<1, 32>>>(x.data_ptr<float>());
    return x;
}
"""
RULE = Rule(
    code="API002",
    name="no-input-checks",
    severity="note",
    summary="The function does not check device, layout or type of its inputs; a wrong call gives a crash or wrong numbers instead of a "
    "message.",
    why="A kernel believes what it is given. One TORCH_CHECK line a tensor turns a corrupted context into a sentence.",
    bad=_BAD,
    good=_BAD.replace(
        "__global__",
        '#define CHECK_CUDA(t) TORCH_CHECK(t.is_cuda(), "must be on the GPU")\n'
        '#define CHECK_INPUT(t) CHECK_CUDA(t); TORCH_CHECK(t.is_contiguous(), "must be contiguous")\n'
        "__global__",
    ).replace("    k", "    CHECK_INPUT(x);\n    k"),
    detects=("text",),
    languages=("cuda",),
    guards="data_ptr<float>() throws on another type by itself. Checks in macros and helpers count, and so does contiguous() in forward. "
    "Nearly every kernel has it: folded into one line.",
    fix="",
    check=check,
    predicts="nothing",
)
