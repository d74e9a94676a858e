"""BLD021: Triton's compiler refuses a kernel."""

import ast
import re
from collections.abc import Iterator, Sequence

from grader.records import ToolMessage
from grader.rules import Context, Evidence, Finding, Fix, Place, Source, fix, rule_of
from grader.rules.name_tables import read_sentences
from grader.source.analysis.triton import Kernel, kernels, launches
from grader.source.code_edits import replace

CAUSES = read_sentences(__file__, "causes")
GLOBAL = re.compile(r"(?:global variable |no function `)(?P<name>\w+)")
ADDRESS = ".data_ptr()"
CARRIED = re.compile(r"[Ll]oop-carried variable (?P<name>\w+)")


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Report the meaning of each refusal, at its line."""
    for item in context.evidence_of("compiler"):
        if isinstance(item.details, ToolMessage) and item.details.tool == "triton":
            cause = CAUSES.get(item.code, "")
            kernel = next((one for one in kernels(source) if one.holds(item.place)), None)
            yield RULE.finding(
                (_cause(source, kernel, item) if kernel else None) or item.place,
                f"{item.text.rstrip('.')}{f': {cause}' if cause else ''}",
                evidence=(item,),
                fixes=tuple(_fixes(source, kernel, item)) if kernel else (),
            )


def _cause(source: Source, kernel: Kernel, item: Evidence) -> Place | None:
    """Return the place that causes the refusal: a loop variable's initial value, a function's definition, a launch's argument."""
    printed = item.details.said if isinstance(item.details, ToolMessage) else ""
    line = item.place.line if item.place else 0
    made: Sequence[ast.AST] = ()
    if carried := CARRIED.search(printed):
        made = [v for v in kernel.assigned.get(carried["name"], ()) if v.lineno < line][-1:]
    elif foreign := GLOBAL.search(printed):
        made = [one for one in source.walk(ast.FunctionDef) if one.name == foreign["name"]]
    elif "too many indices" in printed:
        taken = [n.value for n in ast.walk(kernel.node) if isinstance(n, ast.Subscript) and n.lineno == line]  # fmt: skip
        values = (v for name in map(source.text, taken) for v in kernel.assigned.get(name, ()))
        made = [v for v in values if not any(kernel.language_name(p) == "arange" for p in kernel.made_of(v))]  # fmt: skip
    elif item.code == "power-of-two":
        made = list(_given_lengths(source, kernel, item))
    elif item.code == "unsupported-type":
        made = list(_numbers_of_pointers(source, kernel))
    return source.place(made[0]) if made else None


def _given_lengths(source: Source, kernel: Kernel, item: Evidence) -> Iterator[ast.expr]:
    """Yield the launch arguments for a refused length."""
    names = {one.arg for one in _lengths(kernel, item)}
    for launch in (one for one in launches(source) if one.kernel is kernel):
        yield from (launch.arguments[name] for name in names if name in launch.arguments)


def _numbers_of_pointers(source: Source, kernel: Kernel) -> Iterator[ast.expr]:
    """Yield the addresses that launches pass as numbers."""
    given = (v for one in launches(source) if one.kernel is kernel for v in one.arguments.values())
    return (one for one in given if source.text(one).endswith(ADDRESS))


def _fixes(source: Source, kernel: Kernel, item: Evidence) -> Iterator[Fix]:
    if item.code == "not-constexpr":
        yield from _constexpr(source, kernel, item)
    elif item.code == "power-of-two":
        edits = [
            replace(source, v, f"triton.next_power_of_2({source.text(v)})")
            for v in _given_lengths(source, kernel, item)
        ]
        yield from fix("round the block's length up to a power of two", edits) if edits else ()
    elif item.code == "unsupported-type":
        numbers = _numbers_of_pointers(source, kernel)
        edits = [replace(source, v, source.text(v).removesuffix(ADDRESS)) for v in numbers]
        yield from fix("pass the tensors themselves", edits) if edits else ()


def _lengths(kernel: Kernel, item: Evidence) -> Iterator[ast.arg]:
    """Yield the parameters that the refused line uses as a block's length."""
    line = item.place.line if item.place else 0
    for call in kernel.calls("arange", "zeros", "full"):
        if call.lineno == line:
            names = {node.id for node in ast.walk(call) if isinstance(node, ast.Name)}
            yield from (one for one in kernel.node.args.args if one.arg in names)


def _constexpr(source: Source, kernel: Kernel, item: Evidence) -> Iterator[Fix]:
    open_ones = [one for one in _lengths(kernel, item) if one.annotation is None]
    edits = [replace(source, one, f"{one.arg}: tl.constexpr") for one in open_ones]
    yield from fix("declare the block's length as tl.constexpr", edits, certain=True)


RULE = rule_of(__file__, check, catch_all=True)
