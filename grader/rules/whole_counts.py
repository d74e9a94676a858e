"""Host code that counts a tensor's rows where it means all of its elements."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from grader.records import Edit
from grader.source.code_edits import replace_node
from grader.source.cuda_code import Call, cuda_code, text, units

if TYPE_CHECKING:
    from grader.source import Source, Unit


def whole_counts(source: Source) -> list[Edit | None]:
    """Return the edits that put `x.numel()` for `x.size(0)` in each function that asks for no other size of x."""
    edits: list[Edit | None] = []
    for unit in units(source):
        for calls in _sizes(unit).values():
            if {text(call.arguments[0]) for call in calls} == {"0"}:
                edits += [_counted(unit, call) for call in calls]
    return edits


def _sizes(unit: Unit) -> dict[tuple[int, str], list[Call]]:
    """Return the sizes that host functions ask for, by function and tensor."""
    found: dict[tuple[int, str], list[Call]] = defaultdict(list)
    for call in cuda_code(unit).calls:
        function = cuda_code(unit).function(call.node)
        asked = call.name == "size" and call.object is not None and len(call.arguments) == 1
        if asked and function is not None and function.runs == "host":
            found[function.node.start_byte, text(call.object)].append(call)
    return found


def _counted(unit: Unit, call: Call) -> Edit | None:
    return replace_node(unit, call.node, f"{text(call.object)}.numel()")


__all__ = ["whole_counts"]
