"""BLD011: min or max of two different types."""

from collections.abc import Iterator

from grader.rules import Context, Evidence, Finding, Fix, Source, Unit, fix, rule_of
from grader.source.analysis.diagnostics import errors_by_line
from grader.source.cpp import Call
from grader.source.cpp_types import type_of
from grader.source.nodes import text

SPELLED = {"long": "int64_t", "ulong": "size_t", "ll": "long long", "ull": "unsigned long long"}
RANK = ("int", "unsigned", "long", "ulong", "ll", "ull", "float", "double")
NAMES = ("std::min", "std::max", "min", "max")
KINDS = ("no-overload", "ambiguous-call")


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Check the argument types of each min and max that the compiler refuses."""
    refused = errors_by_line(context, KINDS)
    for unit in source.units if refused else ():
        for call in unit.calls:
            kinds = [type_of(unit, argument) for argument in call.arguments]
            if call.qualified in NAMES and call.base is None and len(set(kinds) & set(RANK)) == 2:
                place = unit.place(call.node)
                lines = range(place.line, place.end_line + 1)
                proof = [item for line in lines for item in refused.get(line, ())]
                if proof:
                    yield _finding(unit, call, [str(kind) for kind in kinds], proof)


def _finding(unit: Unit, call: Call, kinds: list[str], proof: list[Evidence]) -> Finding:
    types = [SPELLED.get(kind, kind) for kind in kinds]
    said = [f"{text(one)} is {kind}" for one, kind in zip(call.arguments, types, strict=True)]
    wider = max(kinds, key=RANK.index)
    return RULE.finding(
        unit.place(call.node),
        f"{call.qualified} takes two values of one type, but {' and '.join(said)}: no version fits, and the build stops",
        evidence=proof,
        fixes=_fixes(unit, call, SPELLED.get(wider, wider), types),
    )


def _fixes(unit: Unit, call: Call, wider: str, types: list[str]) -> tuple[Fix, ...]:
    """Name the wider type, or in device code, cast the other one to it."""
    callee = call.node.child_by_field_name("function") or call.node
    edits = [unit.edit(callee.end_byte, callee.end_byte, f"<{wider}>")]
    if not call.qualified.startswith("std::") or unit.in_device_code(call.node):
        edits = [
            unit.edit(one.start_byte, one.end_byte, f"static_cast<{wider}>({text(one)})")
            for one, kind in zip(call.arguments, types, strict=True)
            if kind != wider
        ]
    return fix(f"compare them as {wider}", edits, certain=True)


RULE = rule_of(__file__, check)
