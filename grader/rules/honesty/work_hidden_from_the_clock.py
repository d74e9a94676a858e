"""CHT009: work on a stream or thread without a wait, or in a lazy object that computes when it is read."""

import ast
from collections.abc import Iterator, Sequence

from tree_sitter import Node

from grader.rules import Context, Finding, Fix, Place, Source, Unit, fix, rule_of
from grader.rules.name_tables import read_names
from grader.source import nodes_under
from grader.source.analysis.data_flow import methods
from grader.source.analysis.extension_use import holders, mentions
from grader.source.code_edits import replace
from grader.source.cpp import Call
from grader.source.nodes import around
from grader.source.python_code import PythonCode

NAMES = read_names(__file__)

HIDDEN = "events on the current stream do not see the work, and its result may not be there yet"
LAZY = "its values can be computed when a grader compares them, outside of the measured time"
INTERCEPTS = (
    "intercepts every torch function that runs while it is active, the grader's comparison included"
)
OTHER_CLASS = "forward returns a tensor of another class, whose operations the file defines"


def check(source: Source, _context: Context) -> Iterator[Finding]:
    """Look for streams and threads in forward, and for their synchronisation."""
    code = source.module
    called = methods(code.reached)
    joined = not called.isdisjoint(NAMES["joins"])
    yield from _streams(source, code) if not joined else ()
    yield from _threads(source, code, called)
    yield from _lazy(source, code)
    for unit in source.units:
        yield from _cpp_streams(unit, joined=joined)
        yield from _cpp_threads(unit)


def _streams(source: Source, code: PythonCode) -> Iterator[Finding]:
    """Find forward's own streams that the current stream never waits for."""
    made = any(
        name in NAMES["streams"] and not code.in_main_guard(call) for name, call in code.calls
    )
    enters = ("torch.cuda.stream", "torch.cuda.set_stream")
    entered = [c for name, c in code.calls if name in enters and code.runs_in_forward(c)]
    for call in entered[:1] if made else ():
        yield RULE.finding(
            source.place(call),
            f"forward works on a stream of its own and returns without the current stream waiting for it: {HIDDEN}",
            fixes=_on_the_current(source, code, call),
            rejects=True,
        )


def _on_the_current(source: Source, code: PythonCode, entered: ast.Call) -> tuple[Fix, ...]:
    owner = code.text(entered.func).rpartition(".")[0]
    edits = [replace(source, one, f"{owner}.current_stream()") for one in entered.args[:1]]
    return fix("work on PyTorch's current stream", edits if owner else [])


def _threads(source: Source, code: PythonCode, called: set[str]) -> Iterator[Finding]:
    """Report threads that forward starts without a wait; one that computes the result rejects."""
    items = (item.context_expr for node in code.of(ast.With) for item in node.items)
    pools = (code.canonical(one.func) for one in items if isinstance(one, ast.Call))
    waits = not called.isdisjoint({"join", "result", "shutdown"}) or not {
        *NAMES["threads"]
    }.isdisjoint(pools)
    made = [
        call for name, call in code.calls if name in NAMES["threads"] and code.runs_in_forward(call)
    ]
    works = [call for call in made if _makes_the_result(source, code, call)]
    for call in (works or made)[:1] if not waits else ():
        what = "what forward returns is made there, later" if works else "its work is not measured"
        yield RULE.finding(
            source.place(call),
            f"forward starts {code.text(call.func).rsplit('.', 1)[-1]}, and nobody waits for it: {what}",
            severity="error" if works else "warning",
            rejects=bool(works),
        )


def _makes_the_result(source: Source, code: PythonCode, call: ast.Call) -> bool:
    """Whether a thread's function calls the extension, or works on forward's result."""
    function = code.function_of(call)
    results = [
        n.value for n in nodes_under(function or call) if isinstance(n, ast.Return) and n.value
    ]
    names = holders(source, code) | {name for one in results for name in _names(one)}
    given = [*call.args, *(word.value for word in call.keywords)]
    local = {node.name: node for node in code.of(ast.FunctionDef)}
    bodies = [local[name] for one in given for name in _names(one) if name in local]
    return any(mentions(one, names) for one in (*given, *bodies))


def _names(node: ast.AST) -> list[str]:
    return [one.id for one in nodes_under(node) if isinstance(one, ast.Name)]


def _cpp_streams(unit: Unit, *, joined: bool) -> Iterator[Finding]:
    calls = unit.calls
    made = [call for call in calls if call.name in NAMES["cpp_streams"]]
    for call in made[:1] if {*NAMES["cpp_joins"]}.isdisjoint(one.name for one in calls) else ():
        hides = not joined and any(launch.stream is not None for launch in unit.launches)
        yield RULE.finding(
            unit.place(call.node),
            f"{call.name} makes a stream that nothing joins with PyTorch's: {HIDDEN}",
            severity="error" if hides else "warning",
            fixes=_on_current_stream(unit, made),
            rejects=hides,
        )


def _on_current_stream(unit: Unit, made: Sequence[Call]) -> tuple[Fix, ...]:
    """Use PyTorch's current stream in place of each from its pool."""
    pooled = [one for one in made if one.name == "getStreamFromPool"]
    edits = [
        unit.edit(
            one.node.start_byte,
            one.node.end_byte,
            f"{one.qualified.removesuffix(one.name)}getCurrentCUDAStream()",
        )
        for one in pooled
    ]
    return fix("work on PyTorch's current stream", edits) if pooled == [*made] else ()


def _cpp_threads(unit: Unit) -> Iterator[Finding]:
    if not {"join", "get", "wait"}.isdisjoint(call.name for call in unit.calls):
        return
    for name in NAMES["cpp_threads"]:
        for node in unit.names.get(name.rsplit("::", 1)[-1], ()):
            outer = node.parent
            written = unit.data[outer.start_byte :] if outer is not None else b""
            if name == "pthread_create" or written.startswith(name.encode()):
                works = _launches_there(unit, node)
                yield RULE.finding(
                    unit.place(node),
                    f"{name} starts work that goes on after the function has returned and is not measured",
                    severity="error" if works else "warning",
                    rejects=works,
                )
                return


def _launches_there(unit: Unit, thread: Node) -> bool:
    """Whether a kernel is launched in the statement that starts a thread."""
    outer = (n for n in around(thread) if n.type.endswith(("_statement", "declaration")))
    whole = next(outer, thread)
    return any(whole.start_byte <= one.node.start_byte < whole.end_byte for one in unit.launches)


def _lazy(source: Source, code: PythonCode) -> Iterator[Finding]:
    """Report subclasses of Tensor, modes that intercept torch's functions, and tensors of such a class."""
    said: list[tuple[Place, str]] = []
    for name, node in code.classes.items():
        bases, place = {code.canonical(base) for base in node.bases}, source.line_place(node.lineno)
        own = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
        hooks = ", ".join(sorted(own & {*NAMES["hooks"]}))
        if bases & {*NAMES["tensors"]}:
            does = f" and overrides {hooks}" if hooks else ""
            said.append((place, f"{name} derives from Tensor{does}: {LAZY}"))
        elif bases & {*NAMES["modes"]}:
            said.append((place, f"{name} {INTERCEPTS}"))
    makers = (
        call
        for name, call in code.calls
        if name in NAMES["makers"] or (name.endswith(".as_subclass") and code.runs_in_forward(call))
    )
    said += [(source.place(call), OTHER_CLASS) for call in list(makers)[:1]]
    yield from (RULE.finding(place, message, severity="warning") for place, message in said)


RULE = rule_of(__file__, check)
