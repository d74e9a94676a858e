"""A fix: a tensor that is made with plain sizes, where C++ takes a list of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from grader.rules.build.fixes.undefined import line_of
from grader.source.code_edits import fix
from grader.source.cpp_types import type_of
from grader.source.cuda_code import cuda_code, units

if TYPE_CHECKING:
    from grader.records import Evidence, Fix
    from grader.source import Source

_REFUSED = re.compile(
    r"no instance of|no matching function|no suitable|more than one instance|could not convert|ambiguous|cannot convert"
)
MAKERS = {"empty", "zeros", "ones", "full", "rand", "randn"}
WHOLE = {"int", "long", "unsigned", "ulong", "ll", "ull"}


def listed(source: Source, item: Evidence) -> tuple[Fix, ...]:
    """Put the sizes of a new tensor in braces."""
    if item.place is None or not _REFUSED.search(item.said):
        return ()
    edits = []
    for unit in units(source):
        for call in cuda_code(unit).calls:
            if call.last not in MAKERS or line_of(unit, call.node) != item.place.line:
                continue
            sizes = []
            for one in call.arguments[: 1 if call.last == "full" else None]:
                if type_of(unit, one) not in WHOLE:
                    break
                sizes.append(one)
            if sizes:
                edits += [
                    unit.edit(sizes[0].start_byte, sizes[0].start_byte, "{"),
                    unit.edit(sizes[-1].end_byte, sizes[-1].end_byte, "}"),
                ]
    return fix("put the sizes in braces", edits)
