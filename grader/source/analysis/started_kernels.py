"""Where a kernel is launched, or passed to code that may launch it."""

import re

from grader.records import Place
from grader.source import Source, Unit
from grader.source.nodes import around, text

ONLY_SETTINGS = ("cudaFuncSetAttribute", "cudaFuncSetCacheConfig", "cudaOccupancy", "cudaFuncGet")


def is_started(source: Source, kernel: str) -> bool:
    """Whether a kernel is launched, or passed as a function, anywhere."""
    if any(launch.kernel == kernel for unit in source.units for launch in unit.launches):
        return True
    return any(_is_mentioned(unit, kernel) for unit in source.units)


def _is_mentioned(unit: Unit, kernel: str) -> bool:
    for node in unit.uses_of(kernel):
        outer = list(around(node))
        if any(one.type == "function_declarator" for one in outer[:3]):
            continue
        call = next((one for one in outer if one.type == "call_expression"), None)
        callee = text(call.child_by_field_name("function")) if call is not None else ""
        if callee.startswith(ONLY_SETTINGS) or callee.endswith(".def"):
            continue  # Python, to which `m.def` hands it, launches nothing
        return True
    pattern = re.compile(rf"\b{re.escape(kernel)}\b")
    return any(pattern.search(text(node)) for node in unit.nodes("preproc_arg"))


def launch_place(source: Source, line: int) -> Place | None:
    """Return the only launch of the kernel around a line; None where there are several."""
    for unit in source.cuda:
        for kernel in unit.kernels:
            place = unit.place(kernel.node)
            if place.line <= line <= place.end_line:
                found = [one for one in unit.launches if one.kernel == kernel.name]
                return unit.place(found[0].node) if len(found) == 1 else None
    return None
