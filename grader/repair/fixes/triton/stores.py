"""Fixes of races between programs and unwritten elements: atomics for racing stores, an element for each program."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.records import Context, Finding, Fix
from grader.repair.fixes.maker import FixMaker
from grader.source import Source
from grader.source.analysis.triton import Access, Kernel, kernels
from grader.source.code_edits import fix, replace


def propose(finding: Finding, source: Source, context: Context) -> Iterator[Fix]:
    """Yield the fixes that may order the stores."""
    del finding, context
    for kernel in kernels(source):
        for access in kernel.accesses:
            if access.kind == "store":
                yield from _atomic(source, kernel, access)
                yield from _own_element(source, kernel, access)


def _atomic(source: Source, kernel: Kernel, access: Access) -> Iterator[Fix]:
    """Yield an atomic sum in place of a store, without its earlier read."""
    value = access.arguments.get("value")
    if value is None:
        return
    added = _without_read(source, kernel, value)
    mask = f", mask={source.text(access.mask)}" if access.mask is not None else ""
    text = f"tl.atomic_add({source.text(access.pointer)}, {added}{mask})"
    yield from fix("add with an atomic", [replace(source, access.call, text)])


def _without_read(source: Source, kernel: Kernel, value: ast.expr) -> str:
    """Return what is added, of `old + new` where `old` is a load."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        for read, new in ((value.left, value.right), (value.right, value.left)):
            made = kernel.assigned.get(read.id, ()) if isinstance(read, ast.Name) else (read,)
            if any(kernel.language_name(one) == "load" for one in made):
                return source.text(new)
    return source.text(value)


def _own_element(source: Source, kernel: Kernel, access: Access) -> Iterator[Fix]:
    """Yield a store of each program to an element of its own, where the pointer is a parameter as it is."""
    pointer = access.pointer
    if isinstance(pointer, ast.Name) and pointer.id in kernel.parameters:
        edits = [replace(source, pointer, f"{pointer.id} + tl.program_id(0)")]
        value = access.arguments.get("value")
        alone = _without_read(source, kernel, value) if value is not None else ""
        if value is not None and alone != source.text(value):
            edits.append(replace(source, value, alone))
        yield from fix("store to the program's own element", edits)


FIX = FixMaker(("SYN006", "MEM008", "SYN002"), propose, order=1)
