"""A fix: a data pointer of a type that torch calls otherwise, which no library defines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from grader.source.code_edits import fix, replace_node
from grader.source.cuda_code import cuda_code, text, units

if TYPE_CHECKING:
    from grader.records import Evidence, Fix
    from grader.source import Source

_UNDEFINED = re.compile(r"undefined (?:symbol|reference).*data_ptr")
OWN = {
    "half": "at::Half", "__half": "at::Half", "__nv_bfloat16": "at::BFloat16", "nv_bfloat16": "at::BFloat16",
    "long long": "int64_t", "long long int": "int64_t", "unsigned int": "int", "unsigned": "int", "uint32_t": "int",
    "unsigned long long": "int64_t", "size_t": "int64_t", "uint64_t": "int64_t", "char": "int8_t",
}  # fmt: skip
"""torch's types of the same bits, by CUDA's and C's."""


def reinterpreted(source: Source, item: Evidence) -> tuple[Fix, ...]:
    """Take the pointer in torch's type, and read it as the one of the same bits."""
    if not _UNDEFINED.search(item.said):
        return ()
    edits = []
    for unit in units(source):
        for call in cuda_code(unit).calls:
            if (
                call.name in {"data_ptr", "data"}
                and call.template in OWN
                and call.object is not None
            ):
                asked = f"{text(call.object)}.data_ptr<{OWN[call.template]}>()"
                new = f"reinterpret_cast<{call.template}*>({asked})"
                edits.append(replace_node(unit, call.node, new))
    return fix("take the pointer in torch's own type", edits)
