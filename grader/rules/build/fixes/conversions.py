"""Fixes of values in braces that would be narrowed, and of pointers of a dispatch's type in a kernel of one type."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from grader.rules.build.fixes.undefined import line_of
from grader.source.code_edits import fix, replace_node
from grader.source.cpp_types import canonical
from grader.source.cuda_code import cuda_code, text

if TYPE_CHECKING:
    from grader.records import Evidence, Fix
    from grader.source import Source

_NARROWED = re.compile(
    r"narrowed from type .*? to '([^']+)'|narrowing conversion .*? to \W([\w ]+)\W|narrowing conversion from \"[^\"]+\" to \"([^\"]+)\""
)
_OTHER_POINTER = re.compile(
    r"argument of type \"[^\"]*\*\"|no known conversion from '[^']*\*'|no matching function for call"
)
_GENERIC = re.compile(r"data_ptr<\s*scalar_t\s*>")


def narrowed(source: Source, item: Evidence) -> tuple[Fix, ...]:
    """Convert what stands in braces to the type that is asked for."""
    found = _NARROWED.search(item.said)
    if not found or item.place is None:
        return ()
    kind = next(name for name in found.groups() if name)
    edits = []
    for unit in source.cuda:
        for node in cuda_code(unit).of("initializer_list"):
            if line_of(unit, node) == item.place.line:
                for one in node.named_children:
                    if one.type not in {"number_literal", "initializer_list", "comment"}:
                        start, end = one.start_byte, one.end_byte
                        edits.append(unit.edit(start, start, f"static_cast<{kind}>("))
                        edits.append(unit.edit(end, end, ")"))
    return fix(f"convert it to {kind}", edits)


def plain_pointers(source: Source, item: Evidence) -> tuple[Fix, ...]:
    """Take pointers in the kernel's own type, where a dispatch takes them in each type in turn."""
    if not _OTHER_POINTER.search(item.said):
        return ()
    edits = []
    for unit in source.cuda:
        kernels = {kernel.name: kernel for kernel in unit.kernels}
        for launch in unit.launches:
            kernel = kernels.get(launch.kernel)
            if kernel is None or kernel.template_parameters:
                continue
            for parameter, argument in zip(kernel.parameters, launch.arguments, strict=False):
                base = (canonical(parameter.type) or "").removeprefix("const ").rstrip("*")
                if base in {"float", "double", "int"} and _GENERIC.search(text(argument)):
                    new = _GENERIC.sub(f"data_ptr<{base}>", text(argument))
                    edits.append(replace_node(unit, argument, new))
    return fix("take the pointers in the kernel's type", edits)
