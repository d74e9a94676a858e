"""Fixes of accesses out of bounds: the mask that a neighbour has, or a comparison with the length that is left out."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain

from grader.records import Context, Edit, Finding, Fix
from grader.repair.fixes.maker import FixMaker
from grader.source import Source
from grader.source.analysis.triton import Access, Kernel, accesses_at, kernels
from grader.source.analysis.triton_axes import cuts
from grader.source.code_edits import fix, replace

_BROADCAST = re.compile(r"\w+\[(?::, None|None, :)\]")
MOST = 6
"""Masks that are tried for one access."""


def propose(finding: Finding, source: Source, context: Context) -> Iterator[Fix]:
    """Yield masks for the accesses at the finding's lines, those of neighbours first."""
    del context
    places = (finding.place, *(one.place for one in finding.evidence))
    lines = sorted({place.line for place in places if place is not None})
    found = {id(one): one for line in lines for one in accesses_at(source, line)}
    for kernel in kernels(source):
        for access in kernel.accesses:
            if id(access) in found:
                yield from _bound_access(source, kernel, access)


def _bound_access(source: Source, kernel: Kernel, access: Access) -> Iterator[Fix]:
    if _is_block(kernel, access):
        yield from _check_access(source, access)
        return
    kinds = _neighbours(source, kernel, access), _lengths(source, kernel, access)
    masks = list(dict.fromkeys(chain(*kinds[:: 1 if access.mask is None else -1])))
    for mask in masks[:MOST]:
        yield from fix(
            f"give the access the mask `{mask}`", [_with_mask(source, kernel, access, mask)]
        )


def _is_block(kernel: Kernel, access: Access) -> bool:
    return any(
        kernel.language_name(part) in {"make_block_ptr", "advance"}
        for part in kernel.made_of(access.pointer)
    )


def _check_access(source: Source, access: Access) -> Iterator[Fix]:
    for axes in ("(0, 1)", "(0,)"):
        given = access.arguments.get("boundary_check")
        if given is not None:
            edit = replace(source, given, axes)
        else:
            padding = ', padding_option="zero"' if access.kind == "load" else ""
            edit = _append_argument(source, access.call, f"boundary_check={axes}{padding}")
        yield from fix("check the block's bounds", [edit])


def _neighbours(source: Source, kernel: Kernel, access: Access) -> Iterator[str]:
    """Yield the masks of accesses whose pointers are made of the same indices."""
    mine = _indices(kernel, access)
    for other in kernel.accesses:
        if other is not access and other.mask is not None and _indices(kernel, other) & mine:
            mask = source.text(other.mask)
            fits = all(one in source.text(access.pointer) for one in _BROADCAST.findall(mask))
            yield from (mask, _along_the_other_axis(mask))[:: 1 if fits else -1]


def _along_the_other_axis(mask: str) -> str:
    """Return a mask with rows and columns in each other's place: an operand's of a product, for the other one."""
    parts = mask.split("[:, None]")
    return "[None, :]".join(part.replace("[None, :]", "[:, None]") for part in parts)


def _indices(kernel: Kernel, access: Access) -> set[str]:
    """Return the names of blocks of indices that a pointer is made of."""
    return {
        name
        for name in kernel.names_behind(access.pointer)
        for value in kernel.assigned.get(name, ())
        if any(
            kernel.language_name(part) == "arange"
            for part in ast.walk(value)
            if isinstance(part, ast.expr)
        )
    }


def _lengths(source: Source, kernel: Kernel, access: Access) -> Iterator[str]:
    """Yield the mask with one more comparison: an index that it leaves out, with the length that this one runs along."""
    masked = source.text(access.mask) if access.mask is not None else ""
    behind = " ".join((masked, *(source.text(v) for v in _values(kernel, access.mask))))
    old = f"({masked}) & " if masked else ""
    written = " ".join(source.text(one) for one in (access.pointer, *_values(kernel, access.pointer)))  # fmt: skip
    known = {cut.index: cut.lengths for cut in cuts(kernel)}
    names = sorted(_indices(kernel, access), key=lambda name: (bool(re.search(rf"\b{name}\b", behind)), name))  # fmt: skip
    for shape, name in _shaped(names, written):
        yield from (f"{old}({shape} < {length})" for length in known.get(name, ())[:2])
    numbers = [p for p in kernel.parameters if p not in kernel.pointers | kernel.constants and "stride" not in p]  # fmt: skip
    used = Counter(one.id for one in ast.walk(kernel.node) if isinstance(one, ast.Name))
    numbers.sort(key=lambda name: used[name] > 0)  # what nothing uses was forgotten
    alone = [name for name in _single_indices(kernel, access) if not re.search(rf"\b{name}\b", behind)]
    for shape, _ in (*zip(alone, alone, strict=True), *_shaped(names, written)):
        yield from (f"{old}({shape} < {number})" for number in numbers)
        yield from (f"{old}({shape} >= 0)",) if old else ()


def _single_indices(kernel: Kernel, access: Access) -> list[str]:
    """Return the names in a pointer that hold one number, made of a program's or of a loop's."""
    names = [one.id for one in ast.walk(access.pointer) if isinstance(one, ast.Name)]
    blocks = _indices(kernel, access)
    made = [n for n in dict.fromkeys(names) if n in kernel.assigned and n not in kernel.pointers]
    return [n for n in made if n not in blocks and not kernel.names_behind(ast.Name(n)) & kernel.pointers]  # fmt: skip


def _values(kernel: Kernel, name: ast.expr | None) -> tuple[ast.expr, ...]:
    return kernel.assigned.get(name.id, ()) if isinstance(name, ast.Name) else ()


def _shaped(names: Sequence[str], written: str) -> Iterator[tuple[str, str]]:
    """Yield each index as it stands in a pointer: bare, or as a column or a row."""
    for name in names:
        shapes = [s for s in (f"{name}[:, None]", f"{name}[None, :]") if s in written] or [name]
        yield from ((shape, name) for shape in shapes)


def _with_mask(source: Source, kernel: Kernel, access: Access, mask: str) -> Edit:
    """Return the edit that gives an access a mask: where the name that it has is made, if that is one place."""
    old = access.mask
    made = kernel.assigned.get(old.id, ()) if isinstance(old, ast.Name) else ()
    if old is not None and len(made) == 1 and mask.startswith(f"({source.text(old)}) & "):
        more = mask.removeprefix(f"({source.text(old)}) & ")
        return replace(source, made[0], f"({source.text(made[0])}) & {more}")
    if old is not None:
        return replace(source, old, mask)
    bare = access.kind == "load" and "other" not in access.arguments
    other = f", other={_neutral(source, kernel, access)}" if bare else ""
    return _append_argument(source, access.call, f"mask={mask}{other}")


def _neutral(source: Source, kernel: Kernel, access: Access) -> str:
    """Return what changes nothing of a kernel's result where it stands for an element past the mask."""
    named = [n for n, values in kernel.assigned.items() if any(v is access.call for v in values)]
    words = source.text(kernel.node)
    for function, value in (("max", '-float("inf")'), ("min", 'float("inf")')):
        if any(re.search(rf"\btl\.{function}\(\s*{name}\b", words) for name in named):
            return value
    return "0.0"


def _append_argument(source: Source, call: ast.Call, more: str) -> Edit:
    return replace(source, call, f"{source.text(call)[:-1].rstrip().rstrip(',')}, {more})")


FIX = FixMaker(("MEM011",), propose)
