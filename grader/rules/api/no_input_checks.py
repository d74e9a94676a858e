"""API002: a host function takes tensors as they come."""

import re
from collections.abc import Iterator

from grader.records import Context, Finding
from grader.rules.rule import Rule
from grader.source import Function, Source, Unit
from grader.source.cuda_code import cuda_code, text
from grader.source.python_code import python_code

DEVICE = {"is_cuda", "device", "get_device", "is_privateuseone", "device_type"}
LAYOUT = {"is_contiguous", "contiguous", "stride", "strides", "is_non_overlapping_and_dense"}
TYPE = {"scalar_type", "dtype", "expect_contiguous"}
POINTERS = {"data_ptr", "mutable_data_ptr", "const_data_ptr"}


def check(source: Source, _context: Context) -> Iterator[Finding]:
    """List what each host function with a data pointer does not check."""
    code = python_code(source)
    calls = [name for name, one in code.calls if code.runs_in_forward(one)] if code else []
    ordered = any(name.endswith(".contiguous") for name in calls)
    for unit in source.cuda:
        for function in unit.host_functions:
            types = (
                one.type.replace("&", "").replace("const", "").strip()
                for one in function.parameters
            )
            launches = any(launch.host_function is function for launch in unit.launches)
            if launches and any(kind.endswith("Tensor") for kind in types):
                yield from _function(unit, function, ordered=ordered)


def _function(unit: Unit, function: Function, *, ordered: bool) -> Iterator[Finding]:
    calls = list(cuda_code(unit).calls_under(function.node))
    asked = _asked(unit, function)
    untyped = any(call.name in POINTERS and not call.template for call in calls)
    checks = {
        "device": asked & DEVICE,
        "memory layout": asked & LAYOUT or ordered,
        "dtype": asked & TYPE or not untyped,
    }
    missing = [what for what, found in checks.items() if not found]
    if missing and any(call.name in POINTERS | {"data"} for call in calls):
        yield RULE.finding(
            unit.place(function.parameters[0].node),
            f"{function.name} does not check the {' and '.join(missing)} of its inputs: a wrong "
            "call crashes or gives wrong numbers instead of a message",
            folded=True,
        )


def _asked(unit: Unit, function: Function) -> set[str]:
    """Return what a function asks of tensors, also through helpers and macros of the text."""
    code = cuda_code(unit)
    asked = {call.last for call in code.calls_under(function.node)}
    for other in unit.host_functions:
        if other.name in asked and other is not function:
            asked |= {call.last for call in code.calls_under(other.node)}
    macros = {
        text(node.child_by_field_name("name")): text(node.child_by_field_name("value"))
        for node in code.of("preproc_function_def")
    }
    for _ in range(2):  # macros of macros
        asked |= {w for name in asked & macros.keys() for w in re.findall(r"\w+", macros[name])}
    return asked


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
    languages=("cuda",),
    guards="data_ptr<float>() throws on another type by itself. Checks in macros and helpers count, and so does contiguous() in forward. "
    "Nearly every kernel has it: folded into one line.",
    check=check,
    predicts="nothing",
)
