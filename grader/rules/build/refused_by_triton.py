"""BLD021: Triton's compiler refuses a kernel."""

import ast
import re
from collections.abc import Iterator

from grader.records import ToolMessage
from grader.rules import Context, Evidence, Finding, Fix, Place, Source, fix, rule_of
from grader.rules.name_tables import read_sentences
from grader.source.analysis.triton import Kernel, kernels, launches
from grader.source.code_edits import replace

CAUSES = read_sentences(__file__, "causes")
LEAST_OF_DOT = 16
CARRIED = re.compile(r"[Ll]oop-carried variable (?P<name>\w+)")


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Say what each refusal means, at its line."""
    for item in context.seen("compiler"):
        if isinstance(item.details, ToolMessage) and item.details.tool == "triton":
            cause = CAUSES.get(item.code, "")
            yield RULE.finding(
                _start_of_carried(source, item) or item.place,
                f"{item.text.rstrip('.')}{f': {cause}' if cause else ''}",
                evidence=(item,),
                fixes=tuple(_fixes(source, item)),
            )


def _start_of_carried(source: Source, item: Evidence) -> Place | None:
    """Return where a value that a loop carries starts: its type is decided there."""
    printed = item.details.said if isinstance(item.details, ToolMessage) else ""
    named = CARRIED.search(printed)
    line = item.place.line if item.place else 0
    for kernel in kernels(source) if named else ():
        given = (
            [v for v in kernel.assigned.get(named["name"], ()) if v.lineno < line] if named else []
        )
        if given and _inside(kernel, item):
            return source.place(given[-1])
    return None


def _fixes(source: Source, item: Evidence) -> Iterator[Fix]:
    kernel = next((one for one in kernels(source) if _inside(one, item)), None)
    if kernel is None:
        return
    if item.code == "not-constexpr":
        yield from _constexpr(source, kernel, item)
    elif item.code == "power-of-two":
        yield from _rounded_up(source, kernel, item)
    elif item.code == "dot-shapes":
        yield from _at_least_sixteen(source, kernel)
    elif item.code == "loop-carried-type":
        yield from _as_float32(source, kernel)


def _inside(kernel: Kernel, item: Evidence) -> bool:
    line = item.place.line if item.place else 0
    return kernel.node.lineno <= line <= (kernel.node.end_lineno or 0)


def _lengths(kernel: Kernel, item: Evidence) -> Iterator[ast.arg]:
    """Yield the parameters that the refused line takes for a block's length."""
    line = item.place.line if item.place else 0
    for call in kernel.calls("arange", "zeros", "full"):
        if call.lineno == line:
            names = {node.id for node in ast.walk(call) if isinstance(node, ast.Name)}
            yield from (one for one in kernel.node.args.args if one.arg in names)


def _constexpr(source: Source, kernel: Kernel, item: Evidence) -> Iterator[Fix]:
    open_ones = [one for one in _lengths(kernel, item) if one.annotation is None]
    edits = [replace(source, one, f"{one.arg}: tl.constexpr") for one in open_ones]
    if edits:
        yield from fix("declare the block's length as tl.constexpr", edits, certain=True)


def _rounded_up(source: Source, kernel: Kernel, item: Evidence) -> Iterator[Fix]:
    names = {one.arg for one in _lengths(kernel, item)}
    for launch in launches(source):
        if launch.kernel is kernel:
            given = [launch.arguments[name] for name in names if name in launch.arguments]
            edits = [
                replace(source, value, f"triton.next_power_of_2({source.text(value)})")
                for value in given
            ]
            if edits:
                yield from fix("round the block's length up to a power of two", edits)


def _at_least_sixteen(source: Source, kernel: Kernel) -> Iterator[Fix]:
    """Give blocks that `tl.dot` can't multiply the least length that it takes."""
    for launch in launches(source):
        given = [launch.arguments[n] for n in kernel.constants if n in launch.arguments]
        short = [v for v in given if isinstance(v, ast.Constant) and type(v.value) is int and v.value < LEAST_OF_DOT]  # fmt: skip
        if launch.kernel is kernel and short:
            edits = [replace(source, value, str(LEAST_OF_DOT)) for value in short]
            yield from fix("give tl.dot at least 16 along each dim", edits)


def _as_float32(source: Source, kernel: Kernel) -> Iterator[Fix]:
    """Start an accumulator as what products and sums of float32 are."""
    for call in kernel.calls("zeros", "full"):
        given = [word.value for word in call.keywords if word.arg == "dtype"] or call.args[-1:]
        for value in given:
            if source.module.canonical(value) in NARROW:
                yield from fix("accumulate in float32", [replace(source, value, "tl.float32")])


NARROW = frozenset(
    f"triton.language.{name}" for name in ("float16", "bfloat16", "int32", "int64", "float64")
)
RULE = rule_of(__file__, check, catch_all=True)
