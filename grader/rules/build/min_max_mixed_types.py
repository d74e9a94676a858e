"""BLD011: min or max of two different types."""

from collections.abc import Iterator

from grader.records import Context, Finding, Fix
from grader.rules.page_file import read_page
from grader.rules.rule import Rule
from grader.source import Source, Unit
from grader.source.analysis.diagnostics import confirming_errors
from grader.source.code_edits import fix
from grader.source.cpp_types import type_of
from grader.source.cuda_code import Call, cuda_code, text, units

SPELLED = {"long": "int64_t", "ulong": "size_t", "ll": "long long", "ull": "unsigned long long"}
RANK = ("int", "unsigned", "long", "ulong", "ll", "ull", "float", "double")
TOGETHER = ({"int", "unsigned"}, {"long", "ulong"}, {"ll", "ull"}, {"float", "double"})
"""Pairs for which CUDA has a version of the unqualified min and max; checked with nvcc 13."""
KINDS = ("no-overload", "ambiguous-call")


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Compare the types of the two arguments of each min and max that the text does not define itself."""
    for unit in units(source):
        macros = cuda_code(unit).of("preproc_function_def")
        own = {text(node.child_by_field_name("name")) for node in macros}
        own |= {function.name for function in unit.functions}
        for call in cuda_code(unit).calls:
            plain = call.name in {"std::min", "std::max", "min", "max"} and call.object is None
            if plain and own.isdisjoint({"min", "max"}) and not call.template:
                yield from _call(unit, call, context)


def _call(unit: Unit, call: Call, context: Context) -> Iterator[Finding]:
    kinds = [type_of(unit, argument) for argument in call.arguments]
    qualified = call.name.startswith("std::")
    if len(kinds) != 2 or kinds[0] == kinds[1] or not set(kinds) <= set(RANK):
        return
    if not qualified and set(kinds) in TOGETHER:
        return
    place, types = unit.place(call.node), [SPELLED.get(str(kind), str(kind)) for kind in kinds]
    said = [f"{text(one)} is {kind}" for one, kind in zip(call.arguments, types, strict=True)]
    fit = "no version fits" if qualified else "several versions fit equally well"
    wider = max(map(str, kinds), key=RANK.index)
    yield RULE.finding(
        place,
        f"{call.name} takes two values of one type, but {' and '.join(said)}: {fit}, and the build stops",
        evidence=confirming_errors(context, KINDS, lines=(place.line,)),
        fixes=_fixes(unit, call, SPELLED.get(wider, wider), types),
    )


def _fixes(unit: Unit, call: Call, wider: str, types: list[str]) -> tuple[Fix, ...]:
    """Name the wider type, or in device code, cast the other one to it."""
    callee = call.node.child_by_field_name("function") or call.node
    edits = [unit.edit(callee.end_byte, callee.end_byte, f"<{wider}>")]
    if not call.name.startswith("std::") or cuda_code(unit).in_device_code(call.node):
        edits = [
            unit.edit(one.start_byte, one.end_byte, f"static_cast<{wider}>({text(one)})")
            for one, kind in zip(call.arguments, types, strict=True)
            if kind != wider
        ]
    return fix(f"compare them as {wider}", edits, certain=True)


RULE = Rule(**read_page(__file__), detects=("text", "build"), languages=("cuda",), check=check)
