"""API001: in every call the host waits for the GPU, or data moves between the two."""

import ast
from collections.abc import Iterator

from grader.rules import Context, Edit, Finding, Fix, Source, Unit, fix, rule_of
from grader.source import cpp, nodes_under
from grader.source.code_edits import delete_lines_of, delete_statement, replace_node
from grader.source.cpp import Call
from grader.source.cpp_types import type_of
from grader.source.python_code import PythonCode

WAITS = {"cudaDeviceSynchronize", "cudaThreadSynchronize", "cudaStreamSynchronize", "cudaEventSynchronize"}  # fmt: skip
OWN_STREAMS = {"cudaStreamCreate", "cudaStreamCreateWithFlags", "cudaStreamCreateWithPriority"}
SCALARS = {"item", "tolist"}
TAKES_AN_ERROR = {"argument_list", "init_declarator", "assignment_expression"}


def check(source: Source, _context: Context) -> Iterator[Finding]:
    """Look for waiting and copying in host functions and in what forward runs."""
    for unit in source.units:
        own = any(call.name in OWN_STREAMS for call in unit.calls)
        for call in (one for one in unit.calls if not unit.in_device_code(one.node)):
            tensor = call.base is not None and type_of(unit, call.base.node) == "Tensor"
            if call.name in WAITS and call.base is None:
                yield _waiting(unit, call, own=own)
            elif call.qualified == "item" and call.base is not None and (call.template or tensor):
                said = "item() copies a number from the GPU and waits for it on every call"
                yield RULE.finding(unit.place(call.node), said)
    yield from _python(source)
    yield from _copies(source)


def _waiting(unit: Unit, call: Call, *, own: bool) -> Finding:
    """Return the advice on a wait: it can be removed unless the work is on separate streams."""
    rest = (
        "launched on PyTorch's current stream, the kernels would need neither streams of their own nor a wait"
        if own
        else "the order of the stream is enough"
    )
    return RULE.finding(
        unit.place(call.node),
        f"{call.name} makes the host wait for the GPU on every call; {rest}",
        fixes=() if own else _without(unit, call),
    )


def _without(unit: Unit, call: Call) -> tuple[Fix, ...]:
    outer = call.node.parent
    if outer is not None and outer.type == "expression_statement":
        return fix(f"leave {call.name} out", [delete_lines_of(unit, outer)], certain=True)
    if outer is not None and outer.type in TAKES_AN_ERROR:
        edit = replace_node(unit, call.node, "cudaGetLastError()")
        return fix("ask for the launch's error instead", [edit])
    return ()


def _python(source: Source) -> Iterator[Finding]:
    code = source.module
    for name, call in code.calls:
        if not code.runs_in_forward(call):
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


def _copies(source: Source) -> Iterator[Finding]:
    for function in source.module.reached:
        for node in nodes_under(function):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                yield from _moves_to_cpu(source, node, node.func)
    for unit in source.cuda:
        for host in unit.functions:
            for part in cpp.walk(host.code) if host.runs == "host" else ():
                if isinstance(part, cpp.Call) and part.name in {"cudaMemcpy", "cudaMemcpyAsync"}:
                    words = {a.id for a in part.args if isinstance(a, cpp.Name)}
                    if words & {"cudaMemcpyHostToDevice", "cudaMemcpyDeviceToHost"}:
                        yield RULE.finding(
                            unit.place(part.node),
                            "the host function copies between CPU and GPU memory on every call",
                        )


def _moves_to_cpu(source: Source, node: ast.Call, called: ast.Attribute) -> Iterator[Finding]:
    away = called.attr == "cpu" or (called.attr == "to" and _to(node) == "cpu")
    there = called.attr == "cuda" or (called.attr == "to" and _to(node) == "cuda")
    if not away and not there:
        return
    start = source.span(called.value)[1]
    end = source.span(node)[1]
    edits = [Edit(start=start, end=end, text="")]
    if away:
        yield RULE.finding(
            source.place((start, end)),
            "the result is copied to CPU memory on every call: the host waits, and the data crosses the bus",
            fixes=fix("leave the data on the GPU", edits),
        )
    else:
        yield RULE.finding(
            source.place((start, end)),
            "the data is moved to the GPU on every call: free when it is there already, a slow copy when not",
            severity="note",
            fixes=fix("leave the data where it is", edits),
        )


def _to(node: ast.Call) -> str:
    values = [*node.args, *(k.value for k in node.keywords if k.arg == "device")]
    for value in values[:1]:
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            return value.value.split(":")[0]
    return ""


RULE = rule_of(__file__, check, predicts="nothing")


CLOCKS = {f"time.{name}{unit}" for name in ("time", "perf_counter", "monotonic", "process_time") for unit in ("", "_ns")}  # fmt: skip


def reads_a_clock(code: PythonCode, node: ast.AST) -> bool:
    """Whether an expression reads a clock, or the time between CUDA events."""
    if not isinstance(node, ast.Call):
        return False
    between = isinstance(node.func, ast.Attribute) and node.func.attr == "elapsed_time"
    return between or code.canonical(node.func) in CLOCKS


def measures_time(code: PythonCode, node: ast.AST) -> bool:
    """Whether the function around a node measures time."""
    function = code.function_of(node)
    inner = nodes_under(function) if function is not None else ()
    return any(reads_a_clock(code, one) for one in inner)
