"""A fix: small helpers that everybody knows and this text only calls."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from grader.rules.build.fixes.undefined import at_file_scope, first_code, unknown, uses
from grader.source.code_edits import delete_lines_of, fix
from grader.source.statements import insert_before

if TYPE_CHECKING:
    from grader.records import Evidence, Fix
    from grader.source import Source

QUOTIENT = """\
template <typename A, typename B>
__host__ __device__ constexpr auto {name}(A a, B b) {{ return (a + b - 1) / b; }}
"""
POWER = """\
__host__ __device__ constexpr int {name}(int n) {{
    int power = 1;
    while (power < n) power *= 2;
    return power;
}}
"""
WARP = """\
__device__ __forceinline__ float {name}(float v) {{
    for (int offset = 16; offset > 0; offset >>= 1) {step};
    return v;
}}
"""
SUM = "v += __shfl_xor_sync(0xffffffff, v, offset)"
MAXIMUM = "v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, offset))"
KNOWN = {
    **dict.fromkeys(("ceildiv", "divup", "cdiv", "divceil", "ceildim", "updiv", "divroundup", "iceil"), QUOTIENT),
    **dict.fromkeys(("nextpowerof2", "nextpow2", "nextpoweroftwo", "nextpower2"), POWER),
    **dict.fromkeys(("warpreducesum", "warpsum", "warpreduce", "warpallreducesum"), WARP.replace("{step}", SUM)),
    **dict.fromkeys(("warpreducemax", "warpmax", "warpallreducemax"), WARP.replace("{step}", MAXIMUM)),
}  # fmt: skip
"""Definitions by name, in small letters and without underscores."""


def defined(source: Source, item: Evidence) -> tuple[Fix, ...]:
    """Define the helper where nothing does."""
    name = unknown(item)
    text = KNOWN.get(name.lower().replace("_", ""), "")
    if not text or any(f.name == name for unit in source.cuda for f in unit.functions):
        return ()
    edits = []
    for unit in source.cuda:
        first = first_code(unit)
        if first is not None and any(owner is unit for owner, _ in uses(source, name)):
            edits.append(insert_before(unit, first, text.format(name=name)))
    return fix(f"define {name}", edits)


def without_uncalled(source: Source, item: Evidence) -> tuple[Fix, ...]:
    """Leave out a function that nothing calls, where it names what is not there."""
    if item.place is None or not unknown(item):
        return ()
    for unit in source.cuda:
        for function in unit.functions:
            first = unit.place(function.node).line
            inside = first <= item.place.line <= first + function.text.count("\n")
            if inside and function.runs == "device" and _once(source, function.name):
                whole = at_file_scope(function.node)
                return fix(
                    f"leave out {function.name}, which nothing calls",
                    [delete_lines_of(unit, whole)],
                )
    return ()


def _once(source: Source, name: str) -> bool:
    """Whether a name stands in the submission's texts a single time: where it is defined."""
    return len(re.findall(rf"\b{re.escape(name)}\b", source.code)) == 1
