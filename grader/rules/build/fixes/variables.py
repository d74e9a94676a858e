"""Fixes of variables: declared twice, never declared, initialised where that is not allowed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from grader.rules.build.fixes.undefined import line_of, unknown, uses
from grader.source.code_edits import fix
from grader.source.cuda_code import cuda_code, descendants, text
from grader.source.statements import child_of, insert_before

if TYPE_CHECKING:
    from grader.records import Evidence, Fix
    from grader.source import Source

_TWICE = re.compile(
    r"already been declared in the current scope|redefinition of|redeclaration of|conflicting declaration"
)
_SHARED = re.compile(
    r"initializer not allowed for|initializ\w+ (?:is )?not (?:allowed|supported) for .*__shared__|__shared__ variable"
)
COUNTS = {
    "n",
    "N",
    "size",
    "numel",
    "total",
    "num_elements",
    "total_elements",
    "total_size",
    "n_elements",
    "count",
    "num",
}
"""What authors call the number of a tensor's elements."""
_THREADS = re.compile(r"threads\w*|block_?size|block_?dim|num_?threads", re.IGNORECASE)


def assigned(source: Source, item: Evidence) -> tuple[Fix, ...]:
    """Assign to a variable that is there already, in the place of declaring it once more."""
    if item.place is None or not _TWICE.search(item.said):
        return ()
    for unit in source.cuda:
        for node in cuda_code(unit).of("declaration"):
            made = list(descendants(node, "init_declarator"))
            inside = cuda_code(unit).function(node) is not None
            if line_of(unit, node) != item.place.line or len(made) != 1 or not inside:
                continue
            return fix(
                "assign to the variable that is there",
                [unit.edit(node.start_byte, made[0].start_byte, "")],
            )
    return ()


def counted(source: Source, item: Evidence) -> tuple[Fix, ...]:
    """Declare what a host function uses and never declares: a number of elements, threads of a block."""
    name = unknown(item)
    if not (name in COUNTS or _THREADS.fullmatch(name)):
        return ()
    for unit, node in uses(source, name):
        function = cuda_code(unit).function(node)
        if function is None or function.runs != "host" or function.body is None:
            continue
        tensors = [p.name for p in function.parameters if "Tensor" in p.type]
        value = "256" if _THREADS.fullmatch(name) else f"{tensors[0]}.numel()" if tensors else ""
        if value:
            line = f"const int {name} = {value};"
            return fix(
                f"declare {name}", [insert_before(unit, child_of(function.body, node), line)]
            )
    return ()


def bare_shared(source: Source, item: Evidence) -> tuple[Fix, ...]:
    """Drop the first values of shared memory, which it can't have."""
    if item.place is None or not _SHARED.search(item.said):
        return ()
    edits = []
    for unit in source.cuda:
        for node in cuda_code(unit).of("declaration"):
            if line_of(unit, node) != item.place.line or "__shared__" not in text(node):
                continue
            for made in descendants(node, "init_declarator"):
                declarator = made.child_by_field_name("declarator")
                if declarator is not None:
                    edits.append(unit.edit(declarator.end_byte, made.end_byte, ""))
    return fix("leave the shared array without first values", edits)
