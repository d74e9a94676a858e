"""Fixes of pointers that are asked for in another type than the tensor's: its own, down to the kernel."""

from __future__ import annotations

import re
from collections.abc import Collection

from grader.records import Context, Edit, Finding, Fix
from grader.repair.fixes.maker import FixMaker
from grader.source import Source
from grader.source.analysis.scalar_kinds import RAISED, TYPES
from grader.source.code_edits import fix, replace_node
from grader.source.cuda_code import text

SPELLED = {
    "Float": "float",
    "Double": "double",
    "Long": "int64_t",
    "Int": "int",
    "Half": "at::Half",
    "Bool": "bool",
}
"""C++'s types by torch's names."""
_ASKED = re.compile(r"data_ptr<\s*([\w:]+(?: char)?)\s*>")


def own_type(source: Source, asked: Collection[str], made: str) -> tuple[Fix, ...]:
    """Return the fix that takes the pointers in the type that the tensors have, in launches and kernels.

    `asked` are the C++ types that mean the wrong one; `made` is torch's name of the right one.
    """
    new = SPELLED.get(made.capitalize(), "")
    edits: list[Edit | None] = []
    for unit in source.cuda if new else ():
        kernels = {kernel.name: kernel for kernel in unit.kernels}
        for launch in unit.launches:
            kernel = kernels.get(launch.kernel)
            for index, argument in enumerate(launch.arguments):
                found = _ASKED.search(text(argument))
                if not found or found[1] not in asked:
                    continue
                words = text(argument)
                words = f"{words[: found.start(1)]}{new}{words[found.end(1) :]}"
                edits.append(replace_node(unit, argument, words))
                parameters = kernel.parameters if kernel is not None else ()
                kind = (
                    parameters[index].node.child_by_field_name("type")
                    if index < len(parameters)
                    else None
                )
                if kind is not None and text(kind) in asked:
                    edits.append(replace_node(unit, kind, new))
    return fix(f"take the pointer as {new}", edits)


def propose(finding: Finding, source: Source, _context: Context) -> tuple[Fix, ...]:
    """Return the fix by what was raised, where no tensor of the program's own is of the wrong type."""
    found = next((hit for item in finding.evidence if (hit := RAISED.search(item.said))), None)
    if found is None or finding.fixes:
        return ()
    asked = [name for name, kind in TYPES.items() if kind.lower() == found[1].lower()]
    return own_type(source, asked, found[2])


FIX = FixMaker(codes=("API005",), propose=propose)
