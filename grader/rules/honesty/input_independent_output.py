"""CHT007: the output does not depend on the values of the input."""

import ast
from collections.abc import Iterator

from tree_sitter import Node

from grader.records import Context, Finding, Severity
from grader.records.observed import seen_wrong
from grader.rules.rule import Rule
from grader.source import Kernel, Source, Unit, nodes_under
from grader.source.analysis.data_flow import depends, methods, parameters, returns, tainted
from grader.source.cuda_code import cuda_code, text
from grader.source.python_code import Function, PythonCode, python_code

FORMS = {"empty", "zeros", "ones", "full"}
"""What makes tensors whose values need no kernel."""


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look whether forward's result, and the kernels' stores, depend on any input value.

    Wrong results show it to be an error; where all were right the task's own result is constant. What
    kernels read on the simulator is known from the run, so their text says nothing more there.
    """
    seen = context.seen("probe", "mismatch")
    evidence = tuple(item for item in seen if "input-independent" in item.code)
    severity: Severity = "error" if seen_wrong(context) else "warning"
    code = python_code(source)
    forward = code.method("forward") if code is not None else None
    constant = _constant_result(code, forward) if code is not None and forward is not None else None
    if constant is not None:
        yield RULE.finding(
            source.place(constant),
            "what forward returns does not depend on the values of its input, only on its form",
            severity=severity,
            evidence=evidence,
            reads_no_input=True,
        )
    if context.device != "sim" or not context.launches:
        yield from _kernels(source, severity)
    if evidence and constant is None and forward is not None:
        place = source.line_place(forward.lineno)
        yield RULE.finding(place, evidence[0].text, evidence=evidence)


def _constant_result(code: PythonCode, forward: Function) -> ast.Return | None:
    """Return the first return of a forward that gives nothing which depends on its parameters."""
    names, nodes = set(parameters(forward)), list(nodes_under(forward))
    known = tainted(forward, names, _never)
    results = returns(code, forward)
    depending = any(depends(value, known, _never) for _, value in results)
    yields = any(isinstance(node, ast.Yield | ast.YieldFrom) for node in nodes)
    calls = (n for n in nodes if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute))
    copied = any(
        call.func.attr == "copy_" and any(depends(value, known, _never) for value in call.args)
        for call in calls
        if isinstance(call.func, ast.Attribute)
    )
    replays = copied and "replay" in methods(
        [forward]
    )  # a captured graph reads what is copied there
    return results[0][0] if names and results and not (depending or yields or replays) else None


def _never(_node: ast.AST) -> bool:
    return False


def _kernels(source: Source, severity: Severity) -> Iterator[Finding]:
    """All launched kernels store, and none of them ever reads through a pointer."""
    launched = {launch.kernel for unit in source.cuda for launch in unit.launches}
    every = ((unit, kernel) for unit in source.cuda for kernel in unit.kernels)
    kernels = [(unit, kernel) for unit, kernel in every if kernel.name in launched]
    whole = all(unit.resolved and not unit.tree.has_error for unit in source.cuda)
    if not kernels or not whole or _host_computes(source):
        return
    inputs = [[p.name for p in k.parameters if p.is_pointer and p.is_const] for _, k in kernels]
    if not all(inputs) or any(_reads(unit, kernel) for unit, kernel in kernels):
        return
    unit, kernel = kernels[0]
    end = kernel.body.start_byte if kernel.body is not None else kernel.node.end_byte
    yield RULE.finding(
        unit.place_span(kernel.node.start_byte, end),
        f"{kernel.name} never reads {', '.join(inputs[0])}: what it stores does not depend on the input",
        severity=severity,
        kernels=(kernel.name,),
        reads_no_input=True,
    )


def _host_computes(source: Source) -> bool:
    """Whether the host side computes with tensors too, so that the kernels are not all there is."""
    calls = (call for unit in source.cuda for call in cuda_code(unit).calls)
    own = ((call.name, call.last) for call in calls if call.name.startswith(("torch::", "at::")))
    return any(
        last.islower() and last.removesuffix("_like") not in FORMS
        for name, last in own
        if not name.startswith(("torch::k", "at::cuda"))
    )


def _reads(unit: Unit, kernel: Kernel) -> bool:
    """Whether a kernel may read what one of its pointers points to."""
    start, end = (kernel.body.start_byte, kernel.body.end_byte) if kernel.body else (0, 0)
    uses = (n for p in kernel.parameters if p.is_pointer for n in cuda_code(unit).variable(p.name))
    reads = any(start <= node.start_byte < end and not _is_store(node) for node in uses)
    return reads or any(one.is_reference or "Accessor" in one.type for one in kernel.parameters)


def _is_store(node: Node) -> bool:
    """Whether a pointer's name stands as `p[i] = value`, and nothing else."""
    cell = node.parent
    outer = cell.parent if cell is not None else None
    if cell is None or outer is None or outer.type != "assignment_expression":
        return False
    element = cell.type in {"subscript_expression", "pointer_expression"}
    plain = text(outer.child_by_field_name("operator")) == "="
    return element and plain and outer.child_by_field_name("left") == cell


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
    check=check,
    explained_by=("API004",),
)
