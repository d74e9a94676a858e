"""Fixes of pointers that are asked for in another type than the tensor's: its own, down to the kernel."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import zip_longest

from grader.records import Context, Edit, Finding, Fix
from grader.repair.fixes.maker import FixMaker
from grader.source import Source
from grader.source.analysis.scalar_kinds import RAISED, TYPES
from grader.source.code_edits import fix, replace_node
from grader.source.cuda_code import text

SPELLED = {"Float": "float", "Double": "double", "Long": "int64_t", "Int": "int", "Half": "at::Half", "Bool": "bool"}  # fmt: skip
"""C++'s types by torch's names."""
_ASKED = re.compile(r"data_ptr<\s*([\w:]+(?: char)?)\s*>")


def own_type(source: Source, asked: Collection[str], made: str) -> Iterator[Fix]:
    """Yield the fix that takes the pointers in the type that the tensors have, in launches and kernels.

    `asked` are the C++ types that mean the wrong one; `made` is torch's name of the right one.
    """
    new = SPELLED.get(made.capitalize(), "")
    edits: list[Edit | None] = []
    for unit, launch in ((u, launch) for u in source.cuda for launch in u.launches if new):
        kernel = next((one for one in unit.kernels if one.name == launch.kernel), None)
        kinds = (
            [one.node.child_by_field_name("type") for one in kernel.parameters] if kernel else []
        )
        for argument, kind in zip_longest(launch.arguments, kinds):
            found = _ASKED.search(text(argument))
            if found and found[1] in asked:
                words = text(argument)
                words = f"{words[: found.start(1)]}{new}{words[found.end(1) :]}"
                edits.append(replace_node(unit, argument, words))
                if kind is not None and text(kind) in asked:
                    edits.append(replace_node(unit, kind, new))
    yield from fix(f"take the pointer as {new}", edits)


def propose(finding: Finding, source: Source, _context: Context) -> Iterator[Fix]:
    """Yield the fix by what was raised, where no tensor of the program's own is of the wrong type."""
    found = next((hit for item in finding.evidence if (hit := RAISED.search(item.said))), None)
    if found is not None and not finding.fixes:
        asked = [name for name, kind in TYPES.items() if kind.lower() == found[1].lower()]
        yield from own_type(source, asked, found[2])


FIX = FixMaker(codes=("API005",), propose=propose)
