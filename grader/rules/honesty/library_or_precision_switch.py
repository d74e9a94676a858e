"""CHT006: a ready-made library, or lower precision."""

import ast
import re
from collections.abc import Iterator

from grader.rules import Context, Finding, Source, fix, rule_of
from grader.rules.name_tables import read_names
from grader.source import nodes_under
from grader.source.code_edits import delete_statement
from grader.source.library_calls import library_calls
from grader.source.nodes import text
from grader.source.python_code import PythonCode

NAMES = read_names(__file__)

FORBIDS = re.compile(
    r"(?:do not|don't|must not|without|no) (?:\w+ ){0,3}(?:cuda )?librar(?:y|ies)|no cublas",
    re.IGNORECASE,
)


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for library calls in the CUDA text, and for switches and narrow types in Python."""
    yield from _libraries(source, forbidden=_are_libraries_forbidden(context))
    yield from _switches(source, source.module)
    yield from _narrow(source, source.module)


def _are_libraries_forbidden(context: Context) -> bool:
    """Whether the prompt rules libraries out."""
    texts = [context.sample.prompt or ""] if context.sample is not None else []
    if context.extraction is not None:
        texts += [prose.text for prose in context.extraction.prose if prose.before_code]
    return any(FORBIDS.search(one) for one in texts)


def _libraries(source: Source, *, forbidden: bool) -> Iterator[Finding]:
    """Name the first call of each library."""
    ruled_out = ", which the prompt rules out" if forbidden else ""
    for unit in source.units:
        first = {library: call for library, call in reversed([*library_calls(unit)])}  # noqa: C416
        for library, call in reversed(first.items()):
            name = text(call.node.child_by_field_name("function"))
            yield RULE.finding(
                unit.place(call.node),
                f"{name} is a call of a ready-made library ({library}){ruled_out}",
                severity="warning" if forbidden else "note",
                delegates=library != "CUTLASS",
            )


def _switches(source: Source, code: PythonCode) -> Iterator[Finding]:
    found = list(_switches_set(code))
    statements = [node for node, _ in found if isinstance(node, ast.stmt)]
    for node, name in found:
        edits = [delete_statement(source, node, statements) if isinstance(node, ast.stmt) else None]
        yield RULE.finding(
            source.place(node),
            f"{name} is a switch for the whole process: it changes the reference's speed and numbers as well",
            fixes=fix("leave the switch as it is", edits),
        )
    for name, call in code.calls:
        if name == "torch.compile":
            said = (
                "torch.compile generates kernels by itself: the speed is not the written kernel's"
            )
            yield RULE.finding(source.place(call), said)


def _switches_set(code: PythonCode) -> Iterator[tuple[ast.AST, str]]:
    """Yield the statements that set a process-wide switch, with the switch's name."""
    for node in code.of(ast.Assign):
        names = (code.canonical(target) for target in node.targets)
        yield from ((node, name) for name in names if name.startswith(NAMES["switches"]))
    for name, call in code.calls:
        if name in NAMES["switch_calls"]:
            parent = code.parents.get(call)
            yield (parent if isinstance(parent, ast.Expr) else call), name


def _narrow(source: Source, code: PythonCode) -> Iterator[Finding]:
    for function in code.reached:
        for node in nodes_under(function):
            called = node.func if isinstance(node, ast.Call) else None
            if isinstance(node, ast.Call) and isinstance(called, ast.Attribute):
                given = [*node.args, *(word.value for word in node.keywords)]
                types = {code.canonical(one) for one in given} & {*NAMES["narrow_types"]}
                by_type = called.attr in {"to", "type"} and types
                if by_type or (called.attr in NAMES["narrow"] and not node.args):
                    yield RULE.finding(
                        source.place(node),
                        f"{code.text(node)} computes in half precision what the reference computes in the input's own",
                    )
                    return


RULE = rule_of(__file__, check)
