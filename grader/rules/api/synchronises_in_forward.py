"""API001: the host waits for the GPU in every call."""

import ast
from collections.abc import Iterator

from grader.records import Context, Finding, Fix
from grader.rules.rule import Rule
from grader.source import Source, Unit
from grader.source.clocks import measures_time
from grader.source.code_edits import delete_lines_of, delete_statement, fix, replace_node
from grader.source.cpp_types import type_of
from grader.source.cuda_code import Call, cuda_code, units
from grader.source.python_code import python_code

WAITS = {"cudaDeviceSynchronize", "cudaThreadSynchronize", "cudaStreamSynchronize", "cudaEventSynchronize"}  # fmt: skip
OWN_STREAMS = {"cudaStreamCreate", "cudaStreamCreateWithFlags", "cudaStreamCreateWithPriority"}
SCALARS = {"item", "tolist"}
TAKES_AN_ERROR = {"argument_list", "init_declarator", "assignment_expression"}


def check(source: Source, _context: Context) -> Iterator[Finding]:
    """Look for waiting in host functions and in what forward runs."""
    for unit in units(source):
        code = cuda_code(unit)
        own = any(call.last in OWN_STREAMS for call in code.calls)
        for call in (one for one in code.calls if not code.in_device_code(one.node)):
            tensor = call.object is not None and type_of(unit, call.object) == "Tensor"
            if call.last in WAITS and call.object is None:
                yield _waiting(unit, call, own=own)
            elif call.name == "item" and call.object is not None and (call.template or tensor):
                said = "item() copies a number from the GPU and waits for it on every call"
                yield RULE.finding(unit.place(call.node), said)
    yield from _python(source)


def _waiting(unit: Unit, call: Call, *, own: bool) -> Finding:
    """Return what is said of a wait: it can be left out unless the work is on streams of its own."""
    rest = (
        "launched on PyTorch's current stream, the kernels would need neither streams of their own nor a wait"
        if own
        else "the order of the stream is enough"
    )
    return RULE.finding(
        unit.place(call.node),
        f"{call.last} makes the host wait for the GPU on every call; {rest}",
        fixes=() if own else _without(unit, call),
    )


def _without(unit: Unit, call: Call) -> tuple[Fix, ...]:
    outer = call.node.parent
    if outer is not None and outer.type == "expression_statement":
        return fix(f"leave {call.last} out", [delete_lines_of(unit, outer)], certain=True)
    if outer is not None and outer.type in TAKES_AN_ERROR:
        edit = replace_node(unit, call.node, "cudaGetLastError()")
        return fix("ask for the launch's error instead", [edit])
    return ()


def _python(source: Source) -> Iterator[Finding]:
    code = python_code(source)
    for name, call in code.calls if code is not None else ():
        if code is None or not code.runs_in_forward(call):
            continue
        waits = name == "torch.cuda.synchronize" or name.endswith("current_stream().synchronize")
        outer = code.parents.get(call)
        if waits and not measures_time(code, call):
            edits = [delete_statement(source, outer)] if isinstance(outer, ast.Expr) else []
            yield RULE.finding(
                source.place(call),
                "torch.cuda.synchronize() makes every call wait for the GPU",
                fixes=fix("leave it out", edits, certain=True),
            )
        elif isinstance(call.func, ast.Attribute) and call.func.attr in SCALARS and not call.args:
            said = f"{code.text(call)} copies a number from the GPU and waits for it on every call"
            yield RULE.finding(source.place(call), said)


_BAD = """
__global__ void k(float* y) { y[threadIdx.x] = 1.0f; }
torch::Tensor f(torch::Tensor x) {
    k<<<1, 32>>>(x.data_ptr<float>());
    cudaDeviceSynchronize();
    return x;
}
"""
RULE = Rule(
    code="API001",
    name="synchronises-or-copies-scalar-in-forward",
    severity="warning",
    summary="The CPU waits for the GPU on every call, which adds idle time and hides the real cost of the kernel.",
    why="Kernels of one stream run in order by themselves. Waiting after each launch only stops the host from preparing the next one.",
    bad=_BAD,
    good=_BAD.replace("    cudaDeviceSynchronize();\n", ""),
    guards="Only what forward and the host functions run; waiting at import, or in a function that measures time, is fine.",
    fix="Leaves the call out, or asks for the launch's error instead; nothing where the file makes streams "
    "of its own, which somebody has to wait for.",
    check=check,
    predicts="nothing",
)
