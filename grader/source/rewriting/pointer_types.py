"""The fix of a pointer that is asked for in another type than the tensor's: its own, down to the kernel."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from grader.source.code_edits import fix, replace_node
from grader.source.cuda_code import text

if TYPE_CHECKING:
    from grader.records import Edit, Fix
    from grader.source import Source

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


def own_type(source: Source, asked: Iterable[str], made: str) -> tuple[Fix, ...]:
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
