"""Fixes of host-only names in device code: functions, torch's mathematics, atomics of floats."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from grader.records import Fix
from grader.repair.fixes.compiler.diagnostic import Diagnostic
from grader.repair.fixes.names import names
from grader.source.code_edits import fix, replace_node
from grader.source.cpp import Call
from grader.source.nodes import descendants, text
from grader.source.statements import insert_before


def device_function(found: Diagnostic) -> Iterator[Fix]:
    """Make a function that kernels call a device function: `__device__` before it, or in place of `__global__`."""
    called = found.name if found.kind == "host-in-device" else ""
    if found.kind == "unconfigured-kernel":
        kernels = {kernel.name for unit in found.source.cuda for kernel in unit.kernels}
        called = next((call.name for _, call in found.calls() if call.name in kernels), "")
    every = ((unit, one) for unit in found.source.cuda for one in unit.functions)
    hosts = ((unit, one) for unit, one in every if one.name == called and one.body is not None)
    for unit, one in islice((pair for pair in hosts if pair[1].runs != "device"), 1):
        word = next((n for n in one.node.children if text(n) == "__global__"), None)
        start, end = one.node.start_byte, one.node.start_byte
        new = "__device__ "
        if word is not None:
            start, end, new = word.start_byte, word.end_byte, "__device__"
        yield from fix(f"let device code call {called}", [unit.edit(start, end, new)])


def device_maths(found: Diagnostic) -> tuple[Fix, ...]:
    """Call CUDA's own functions of numbers in device code, in place of torch's or of none."""
    edits = []
    for unit in found.source.cuda if found.line else ():
        for call in unit.calls:
            foreign = (
                call.qualified.startswith(("torch::", "at::")) or call.qualified == found.unknown
            )
            callee = call.node.child_by_field_name("function")
            if not foreign or callee is None or not unit.in_device_code(call.node):
                continue
            if call.name in names()["maths"]:
                edits.append(replace_node(unit, callee, names()["maths"][call.name]))
            elif call.name in names()["formulas"] and not _has_calls(call):
                given = [text(one) for one in call.arguments]
                if len(given) == (3 if call.name.startswith("cl") else 1):
                    edits.append(
                        replace_node(unit, call.node, names()["formulas"][call.name].format(*given))
                    )
    return fix("call CUDA's own function", edits)


def _has_calls(call: Call) -> bool:
    return any(True for one in call.arguments for _ in descendants(one, "call_expression"))


def atomic_extremum(found: Diagnostic) -> tuple[Fix, ...]:
    """Write the atomic maximum or minimum of floats that CUDA does not have, with a compare and swap."""
    if found.kind != "no-overload" or found.name not in {"atomicMax", "atomicMin"}:
        return ()
    pick = "fmaxf" if found.name == "atomicMax" else "fminf"
    words = names()["atomic"]["text"].format(name=found.name, pick=pick)
    edits = [insert_before(unit, first, words) for unit, first in found.users(found.name)]
    return fix(f"write {found.name} for floats", edits)
