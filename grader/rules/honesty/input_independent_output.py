"""CHT007: the output does not depend on the values of the input."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tree_sitter import Node

from grader.records import Context, Finding, Severity
from grader.records.observed import seen_wrong
from grader.rules.rule import Rule
from grader.source import Kernel, Source, Unit, nodes_under
from grader.source.analysis.data_flow import depends, parameters, tainted
from grader.source.cuda_code import cuda_code, text
from grader.source.python_code import Function, PythonCode, python_code


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look whether forward's result, and the kernels' stores, depend on any input value.

    Wrong results show it to be an error; where all were right the task's own result is constant. What
    kernels read on the simulator is known from the run, so their text says nothing more there.
    """
    evidence = tuple(
        item for item in context.seen("probe", "mismatch") if "input-independent" in item.code
    )
    code = python_code(source)
    forward = code.method("forward") if code is not None else None
    found = False
    if code is not None and forward is not None:
        for node in _constant_results(code, forward):
            found = True
            yield RULE.finding(
                source.place(node),
                "what forward returns does not depend on the values of its input, only on its form",
                severity="error" if seen_wrong(context) else "warning",
                evidence=evidence,
                reads_no_input=True,
            )
    if context.device != "sim" or not context.launches:
        for finding in _kernels(source):
            severity: Severity = "error" if seen_wrong(context) else "warning"
            yield finding.model_copy(update={"severity": severity})
    if evidence and not found and forward is not None:
        yield RULE.finding(
            source.line_place(forward.lineno), evidence[0].text, evidence=evidence,
        )  # fmt: skip


def _constant_results(code: PythonCode, forward: Function) -> Iterator[ast.Return]:
    names = set(parameters(forward))
    if not names:
        return
    known = tainted(forward, names, _never)
    returns = [
        node for node in nodes_under(forward)
        if isinstance(node, ast.Return) and node.value is not None
        and code.function_of(node) is forward
    ]  # fmt: skip
    if any(depends(node.value, known, _never) for node in returns):
        return
    if any(isinstance(node, ast.Yield | ast.YieldFrom) for node in nodes_under(forward)):
        return
    if _feeds_a_graph(forward, known):
        return
    yield from returns[:1]


def _feeds_a_graph(forward: Function, known: set[str]) -> bool:
    """Whether the input is copied to where a captured CUDA graph reads it, and the graph replayed."""
    calls = [
        (node, node.func.attr)
        for node in nodes_under(forward)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    ]
    fed = any(
        method == "copy_" and any(depends(value, known, _never) for value in call.args)
        for call, method in calls
    )
    return fed and any(method == "replay" for _, method in calls)


def _never(_node: ast.AST) -> bool:
    return False


def _kernels(source: Source) -> Iterator[Finding]:
    """All launched kernels store, and none of them ever reads through a pointer."""
    launched = {launch.kernel for unit in source.cuda for launch in unit.launches}
    kernels = [
        (unit, kernel) for unit in source.cuda for kernel in unit.kernels if kernel.name in launched
    ]
    whole = all(unit.resolved and not unit.tree.has_error for unit in source.cuda)
    if not kernels or not whole or _host_computes(source):
        return
    if any(_reads(unit, kernel) or not _has_input(kernel) for unit, kernel in kernels):
        return
    unit, kernel = kernels[0]
    pointers = [one.name for one in kernel.parameters if one.is_pointer and one.is_const]
    names = ", ".join(pointers) or "its input"
    yield RULE.finding(
        unit.place_span(
            kernel.node.start_byte,
            kernel.body.start_byte if kernel.body is not None else kernel.node.end_byte,
        ),
        f"{kernel.name} never reads {names}: what it stores does not depend on the input",
        kernels=(kernel.name,),
        reads_no_input=True,
    )


def _has_input(kernel: Kernel) -> bool:
    return any(one.is_pointer and one.is_const for one in kernel.parameters)


def _host_computes(source: Source) -> bool:
    """Whether the host side computes with tensors too, so that the kernels are not all there is."""
    fine = {"empty", "empty_like", "zeros", "zeros_like", "ones", "ones_like", "full", "full_like"}
    return any(
        call.name.startswith(("torch::", "at::"))
        and call.last not in fine
        and call.last.islower()
        and not call.name.startswith(("torch::k", "at::cuda"))
        for unit in source.cuda
        for call in cuda_code(unit).calls
    )


def _reads(unit: Unit, kernel: Kernel) -> bool:
    """Whether a kernel may read what one of its pointers points to."""
    pointers = {one.name for one in kernel.parameters if one.is_pointer}
    code = cuda_code(unit)
    for name in pointers:
        for node in code.variable(name):
            inside = kernel.body is not None and (
                kernel.body.start_byte <= node.start_byte < kernel.body.end_byte
            )
            if inside and not _plain_store(node):
                return True
    return any(one.is_reference or "Accessor" in one.type for one in kernel.parameters)


def _plain_store(node: Node) -> bool:
    """Whether a pointer's name stands as `p[i] = value`, and nothing else."""
    subscript = node.parent
    if subscript is None or subscript.type not in {"subscript_expression", "pointer_expression"}:
        return False
    assignment = subscript.parent
    return (
        assignment is not None
        and assignment.type == "assignment_expression"
        and assignment.child_by_field_name("left") == subscript
        and text(assignment.child_by_field_name("operator")) == "="
    )


_BAD = """
__global__ void k(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 0.5f;
}
torch::Tensor f(torch::Tensor x) {
    auto y = torch::empty_like(x);
    k<<<1, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), 256);
    return y;
}
"""
RULE = Rule(
    code="CHT007",
    name="input-independent-output",
    severity="error",
    summary="The output does not depend on the input as it should: constants, or only its form.",
    why="Some tasks have results that hardly vary, so that a constant passes a loose tolerance. It is no computation.",
    bad=_BAD,
    good=_BAD.replace(
        "__global__",
        "__global__ void clear(float* y, int n) { if (threadIdx.x < n) y[threadIdx.x] = 0.0f; }\n"
        "__global__",
    )
    .replace(
        "int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) y[i] = 0.5f",
        "const float* row = x + blockIdx.x * n;\n    y[threadIdx.x] = row[threadIdx.x]",
    )
    .replace("    k", "    clear<<<1, 256>>>(y.data_ptr<float>(), 256);\n    k"),
    detects=("text", "evidence"),
    guards="Kernels without an input pointer (fills) do not count, and one kernel that reads is enough. A call that gets the input may "
    "write through its other arguments, and a CUDA graph that is replayed through what it was copied to.",
    fix="",
    check=check,
    explained_by=("API004",),
)
