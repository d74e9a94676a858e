"""IDX011: the number of an axis is passed where the code counts with a length."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from grader.records import Context, Finding, Task, TensorSpec, Workload
from grader.records.observed import wrong_results
from grader.rules.rule import Example, Rule
from grader.source.analysis.walks import task_inputs
from grader.source.code_edits import fix, replace
from grader.source.flow import flow
from grader.source.flow.program import Function
from grader.source.flow.tree import (
    Binary,
    Call,
    Cast,
    LaunchCall,
    Loop,
    Name,
    Number,
    Subscript,
    walk,
)
from grader.source.forward_arguments import attributes, bindings

if TYPE_CHECKING:
    from grader.source import Source

AXES = frozenset({"dim", "axis", "dimension", "reduce_dim"})


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for an axis of the task among a call's arguments whose parameter is counted with."""
    kept = {name: value for name, value in attributes(source, context.task).items() if name in AXES}
    shapes = [i.shape for i in task_inputs(context.task, "nominal") if isinstance(i, TensorSpec)]
    if not kept or not shapes:
        return
    for unit in source.cuda:
        functions = {function.name: function for function in flow(unit).program.functions}
        for host in functions.values():
            if host.kind != "host" or not bindings(source, host, kept):
                continue
            for call, argument, parameter in _passed(source, host, kept):
                axis = kept[argument.attr]
                if -len(shapes[0]) <= axis < len(shapes[0]) and _is_length(
                    host, parameter, functions
                ):
                    yield _finding(source, context, call, argument, parameter, axis)


def _passed(
    source: Source, host: Function, kept: dict[str, int]
) -> Iterator[tuple[ast.Call, ast.Attribute, str]]:
    """Yield the call, the argument and the parameter wherever Python passes such an attribute."""
    for call in source.walk(ast.Call):
        if not isinstance(call.func, ast.Attribute) or call.func.attr != host.name:
            continue
        for argument, parameter in zip(call.args, host.parameters, strict=False):
            match argument:
                case ast.Attribute(value=ast.Name(id="self"), attr=name) if name in kept:
                    yield call, argument, parameter.name


def _is_length(host: Function, name: str, functions: dict[str, Function]) -> bool:
    """Whether a host function's parameter is only counted with, there or in the kernels it launches."""
    if _picks(host, name):
        return False
    found = _counts(host, name)
    for launch in (part for part in walk(host.body) if isinstance(part, LaunchCall)):
        kernel = functions.get(launch.kernel)
        for given, parameter in zip(launch.args, kernel.parameters if kernel else (), strict=False):
            if kernel is not None and _is(given, name):
                if _picks(kernel, parameter.name):
                    return False
                found |= _counts(kernel, parameter.name, loops=True)
    return found


def _picks(function: Function, name: str) -> bool:
    """Whether an axis is chosen by it: it is handed on to a method, compared with a number, or an index."""
    for part in walk(function.body):
        if (
            isinstance(part, Call)
            and part.base is not None
            and any(_is(a, name) for a in part.args)
        ):
            return True
        if isinstance(part, Subscript) and any(_is(p, name) for p in walk(part.index)):
            # An index in which it is a factor counts rows of that length.
            if not any(isinstance(p, Binary) and p.op == "*" for p in walk(part.index)):
                return True
        if isinstance(part, Binary) and part.op in {"==", "!=", "<", ">", ">=", "<="}:
            sides = (part.left, part.right)
            if any(_is(s, name) for s in sides) and any(isinstance(s, Number) for s in sides):
                return True
    return False


def _counts(function: Function, name: str, *, loops: bool = False) -> bool:
    """Whether it is a factor or a divisor, or (in a kernel) where a loop ends."""
    for part in walk(function.body):
        if isinstance(part, Binary) and part.op in {"*", "/", "%"}:
            if any(_is(side, name) for side in (part.left, part.right)):
                return True
        if loops and isinstance(part, Loop) and isinstance(part.test, Binary):
            if part.test.op == "<" and _is(part.test.right, name):
                return True
    return False


def _is(expr: object, name: str) -> bool:
    while isinstance(expr, Cast):
        expr = expr.operand
    return isinstance(expr, Name) and expr.id == name


def _finding(
    source: Source,
    context: Context,
    call: ast.Call,
    argument: ast.Attribute,
    parameter: str,
    axis: int,
) -> Finding:
    wrong = wrong_results(context)
    tensor = source.text(call.args[0])
    length = f"{tensor}.size({source.text(argument)})"
    return RULE.finding(
        source.place(argument),
        f"{source.text(argument)} is the number of an axis ({axis}), and the code counts with `{parameter}` as if it were "
        "that axis's length",
        severity="error" if wrong else "warning",
        evidence=wrong[:1],
        fixes=fix("pass the length of that axis", [replace(source, argument, length)]),
    )


def _asked(cuda: str, passed: str) -> Example:
    """Return a program and the task that it is for: a matrix, and 1 as the axis."""
    code = _PROGRAM.replace("CUDA", cuda).replace("PASSED", passed)
    work = Workload(name="w", role="nominal", inputs=(TensorSpec(shape=(4, 64)),), init=(1,))
    task = Task(name="t", title="t", source="file", reference="", workloads=(work,))
    return Example(code, Context(task=task))


_PROGRAM = '''
import torch
from torch.utils.cpp_extension import load_inline
source = """CUDA"""
declared = "torch::Tensor run(torch::Tensor x, int64_t dim);"
ops = load_inline(name="ops", cpp_sources=declared, cuda_sources=source, functions=["run"])
class ModelNew(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim
    def forward(self, x):
        return ops.run(x, PASSED)
'''
_CUDA = """
__global__ void sums(const float* x, float* y, int n) {
    float s = 0.0f;
    for (int i = 0; i < n; ++i) s += x[blockIdx.x * n + i];
    y[blockIdx.x] = s;
}
torch::Tensor run(torch::Tensor x, int64_t dim) {
    auto y = torch::empty({x.size(0)}, x.options());
    sums<<<x.size(0), 1>>>(x.data_ptr<float>(), y.data_ptr<float>(), dim);
    return y;
}
"""

RULE = Rule(
    code="IDX011",
    name="axis-passed-for-its-length",
    severity="error",
    summary="The number of an axis is passed to code that takes it for the length of that axis.",
    why="`dim` of a reduction is 0, 1 or 2: which axis. A kernel that walks `dim` values of each row needs how many there "
    "are, `x.size(dim)`.",
    bad=_asked(_CUDA, "self.dim"),
    good=(
        _asked(_CUDA, "x.size(self.dim)"),
        _asked(_CUDA.replace("(), dim)", "(), x.size(dim))"), "self.dim"),
    ),
    detects=("text", "evidence"),
    guards="Only attributes by the names of axes that the task's constructor is given and that are one of the input's; "
    "a parameter that is handed to a method, compared with a number or taken for an index chooses an axis. "
    "A warning until results were wrong.",
    fix="Passes the length of the axis.",
    check=check,
)
