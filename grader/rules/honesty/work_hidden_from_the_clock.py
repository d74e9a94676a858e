"""CHT009: work on a stream or thread that nobody waits for."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tree_sitter import Node

from grader.records import Context, Edit, Finding, Fix
from grader.rules.rule import Rule
from grader.source import Source, Unit, nodes_under
from grader.source.analysis.extension_use import holders, mentions
from grader.source.code_edits import fix, insert_line_before
from grader.source.cuda_code import cuda_code, units
from grader.source.python_code import PythonCode, python_code

STREAMS = {"torch.cuda.Stream", "torch.cuda.ExternalStream", "torch.Stream"}
JOINS = {"wait_stream", "synchronize", "wait_event", "wait", "record_stream"}
THREADS = {
    "threading.Thread", "threading.Timer", "concurrent.futures.ThreadPoolExecutor",
    "concurrent.futures.ProcessPoolExecutor", "multiprocessing.Process", "_thread.start_new_thread",
    "multiprocessing.Pool", "asyncio.create_task",
}  # fmt: skip
CPP_STREAMS = {"cudaStreamCreate", "cudaStreamCreateWithFlags", "cudaStreamCreateWithPriority",
               "getStreamFromPool"}  # fmt: skip
CPP_JOINS = {"cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaStreamWaitEvent", "synchronize",
             "block", "cudaEventSynchronize", "wait"}  # fmt: skip
CPP_THREADS = {"std::thread", "std::async", "pthread_create", "std::jthread"}


def check(source: Source, _context: Context) -> Iterator[Finding]:
    """Look for streams and threads in what forward runs, and for what joins them."""
    code = python_code(source)
    joined = False
    if code is not None:
        yield from _streams(source, code)
        yield from _threads(source, code)
        joined = not _methods(code).isdisjoint(JOINS)
    for unit in units(source):
        yield from _cpp(unit, joined=joined)


def _streams(source: Source, code: PythonCode) -> Iterator[Finding]:
    """Find a stream of forward's own that the current stream never waits for."""
    made = [call for name, call in code.calls if name in STREAMS and not code.in_main_guard(call)]
    entered = [
        call for name, call in code.calls
        if name in {"torch.cuda.stream", "torch.cuda.set_stream"} and code.runs_in_forward(call)
    ]  # fmt: skip
    if not made or not entered:
        return
    if _methods(code).isdisjoint(JOINS):
        yield RULE.finding(
            source.place(entered[0]),
            "forward works on a stream of its own and returns without the current stream waiting for it: events on the current stream do "
            "not see the work, and its result may not be there yet",
            fixes=_joining(source, code, entered[0]),
            rejects=True,
        )


def _joining(source: Source, code: PythonCode, entered: ast.Call) -> tuple[Fix, ...]:
    """Let both streams wait for each other around the block that works on the other one."""
    block = next(
        (n for n in source.walk(ast.With) if [item.context_expr for item in n.items] == [entered]),
        None,
    )
    owner, _, last = code.text(entered.func).rpartition(".")
    leaves = block is None or any(isinstance(node, ast.Return) for node in nodes_under(block))
    if block is None or leaves or last != "stream" or not owner or len(entered.args) != 1:
        return ()
    stream, current = code.text(entered.args[0]), f"{owner}.current_stream()"
    indent, end = " " * block.col_offset, source.span(block)[1]
    return fix(
        "let the current stream wait for the other one, and the other one for what it reads",
        [
            insert_line_before(source, block, f"{indent}{stream}.wait_stream({current})"),
            Edit(start=end, end=end, text=f"\n{indent}{current}.wait_stream({stream})"),
        ],
    )


def _threads(source: Source, code: PythonCode) -> Iterator[Finding]:
    """Report threads that forward starts and nobody waits for; one that makes the result rejects."""
    made = [call for name, call in code.calls if name in THREADS and code.runs_in_forward(call)]
    if not made or _joined(code):
        return
    works = [call for call in made if _makes_the_result(source, code, call)]
    call = (works or made)[0]
    yield RULE.finding(
        source.place(call),
        f"forward starts {code.text(call.func).rsplit('.', 1)[-1]}, and nobody waits for it: "
        + ("what forward returns is made there, later" if works else "its work is not measured"),
        severity="error" if works else "warning",
        rejects=bool(works),
    )


def _makes_the_result(source: Source, code: PythonCode, call: ast.Call) -> bool:
    """Whether what a thread is given calls the extension, or works on what forward returns."""
    function = code.function_of(call)
    returned = {
        node.id
        for one in nodes_under(function or call)
        if isinstance(one, ast.Return) and one.value is not None
        for node in nodes_under(one.value)
        if isinstance(node, ast.Name)
    }
    names = holders(source, code) | returned
    given = [*call.args, *(word.value for word in call.keywords)]
    local = {node.name: node for node in code.of(ast.FunctionDef)}
    bodies = [
        local[node.id]
        for one in given
        for node in nodes_under(one)
        if isinstance(node, ast.Name) and node.id in local
    ]
    return any(mentions(one, names) for one in (*given, *bodies))


def _methods(code: PythonCode) -> set[str]:
    """Return the names of all methods that a call of ModelNew calls."""
    return {
        node.func.attr
        for function in code.reached
        for node in nodes_under(function)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }


def _joined(code: PythonCode) -> bool:
    """Whether threads are waited for: by a call, or by leaving the block of a pool."""
    pools = any(
        code.canonical(item.context_expr.func) in THREADS
        for node in code.of(ast.With)
        for item in node.items
        if isinstance(item.context_expr, ast.Call)
    )
    return pools or not _methods(code).isdisjoint({"join", "result", "shutdown"})


def _cpp(unit: Unit, *, joined: bool) -> Iterator[Finding]:
    code = cuda_code(unit)
    calls = {call.last for call in code.calls}
    for call in code.calls:
        if call.last in CPP_STREAMS and not calls & CPP_JOINS:
            hides = not joined and any(_on_own_stream(unit))
            yield RULE.finding(
                unit.place(call.node),
                f"{call.last} makes a stream that nothing joins with PyTorch's: events on the "
                "current stream do not see the work, and its result may not be there yet",
                severity="error" if hides else "warning",
                rejects=hides,
            )
            break
    for name in CPP_THREADS:
        nodes = code.names.get(name.rsplit("::", 1)[-1], ())
        used = [
            node for node in nodes
            if (node.parent is not None and node.parent.type == "qualified_identifier"
            and name.startswith("std::") and unit.data[node.parent.start_byte:].startswith(b"std"))
            or name == "pthread_create"
        ]  # fmt: skip
        if used and not {"join", "get", "wait"} & calls:
            works = _launches_there(unit, used[0])
            yield RULE.finding(
                unit.place(used[0]),
                f"{name} starts work that goes on after the function has returned and is not measured",
                severity="error" if works else "warning",
                rejects=works,
            )
            break


def _launches_there(unit: Unit, thread: Node) -> bool:
    """Whether a kernel is launched in the statement that starts a thread."""
    node = thread
    while node.parent is not None and not node.type.endswith(("_statement", "declaration")):
        node = node.parent
    return any(node.start_byte <= one.node.start_byte < node.end_byte for one in unit.launches)


def _on_own_stream(unit: Unit) -> Iterator[bool]:
    for launch in unit.launches:
        yield launch.stream is not None


HEAD = "import torch\nfrom torch import nn\n"
MODEL = f"{HEAD}class ModelNew(nn.Module):\n    def forward(self, x):\n"
RULE = Rule(
    code="CHT009",
    name="work-hidden-from-the-clock",
    severity="error",
    summary="Work runs on a stream or thread that nobody waits for, where a timer does not see it.",
    why="A timer records events on the current stream. What runs beside it is not in the time, and a caller may read the result before "
    "it is there.",
    bad=(
        f"{MODEL}        s = torch.cuda.Stream()\n        with torch.cuda.stream(s):\n"
        "            y = x * 2\n        return y\n"
    ),
    good=(
        f"{MODEL}        s = torch.cuda.Stream()\n        "
        f"s.wait_stream(torch.cuda.current_stream())\n"
        "        with torch.cuda.stream(s):\n            y = x * 2\n"
        "        torch.cuda.current_stream().wait_stream(s)\n        return y\n"
    ),
    detects=("text",),
    guards="Streams that are joined in some way, in Python or in C++, and the current stream, are fine, and so are "
    "threads that are waited for; one that does not make the result is a warning.",
    fix="Lets the streams wait for each other around a `with torch.cuda.stream(...)` block.",
    check=check,
)
