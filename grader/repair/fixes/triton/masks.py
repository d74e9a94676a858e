"""Fixes of accesses out of bounds: a neighbour's mask, or the missing comparison with a length."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from itertools import chain

from grader.records import Context, Edit, Finding, Fix
from grader.repair.fixes.maker import FixMaker
from grader.source import Source
from grader.source.analysis.triton import Access, Kernel, accesses_at, kernels
from grader.source.analysis.triton_axes import cuts
from grader.source.code_edits import add_argument, fix, replace

_BROADCAST = re.compile(r"\w+\[(?::, None|None, :)\]")
MOST = 4
"""Masks that are tried for one access."""


def propose(finding: Finding, source: Source, context: Context) -> Iterator[Fix]:
    """Yield masks for the accesses at the finding's lines, neighbours' masks first."""
    del context
    places = (finding.place, *(one.place for one in finding.evidence))
    lines = sorted({place.line for place in places if place is not None})
    found = {id(one): one for line in lines for one in accesses_at(source, line)}
    for kernel in kernels(source):
        yield from _everywhere(source, kernel, lines)
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
            edit = add_argument(source, access.call, f"boundary_check={axes}{padding}")
        yield from fix("check the block's bounds", [edit])


def _neighbours(source: Source, kernel: Kernel, access: Access) -> Iterator[str]:
    """Yield the masks of accesses whose pointers use the same indices."""
    mine = _indices(kernel, access.pointer)
    masks = [one.mask for one in kernel.accesses if one is not access and one.mask is not None]
    own = source.text(access.mask) if access.mask is not None else ""
    for other in masks:
        mask, held = source.text(other), _indices(kernel, other)
        if held and held <= mine and mask != own:
            fits = all(one in source.text(access.pointer) for one in _BROADCAST.findall(mask))
            yield from (mask, _along_the_other_axis(mask))[:: 1 if fits else -1]


def _along_the_other_axis(mask: str) -> str:
    """Return a mask with rows and columns in each other's place: an operand's of a product, for the other one."""
    parts = mask.split("[:, None]")
    return "[None, :]".join(part.replace("[None, :]", "[:, None]") for part in parts)


def _indices(kernel: Kernel, value: ast.expr) -> set[str]:
    """Return the names of blocks of indices in a pointer or a mask."""
    return {cut.index for cut in cuts(kernel)} & kernel.names_behind(value)


def _lengths(source: Source, kernel: Kernel, access: Access) -> Iterator[str]:
    """Yield the mask with one more comparison: an index that it leaves out, with the length that this one runs along."""
    masked = source.text(access.mask) if access.mask is not None else ""
    old = f"({masked}) & " if masked else ""
    said = " ".join((masked, *(source.text(value) for value in _values(kernel, access.mask))))
    conditions = dict.fromkeys(_conditions(source, kernel, access))
    yield from (f"{old}({one})" for one in conditions if one not in said and (old or ">=" not in one))  # fmt: skip


def _conditions(source: Source, kernel: Kernel, access: Access) -> Iterator[str]:
    """Yield likely bounds of an access's indices, the likeliest first."""
    terms = list(_left_out(source, kernel, access))
    numbers = [p for p in kernel.parameters if p not in kernel.pointers | kernel.constants and "stride" not in p]  # fmt: skip
    used = {one.id for one in ast.walk(kernel.node) if isinstance(one, ast.Name)}
    forgotten = [name for name in numbers if name not in used]
    for shape, lengths in terms:
        yield from (f"{shape} < {length}" for length in lengths[:2])
    for name in _single_indices(kernel, access):
        yield from (f"{name} < {number}" for number in forgotten)
    for shape, lengths in terms:
        bare = access.mask is None and not lengths
        yield from (f"{shape} < {number}" for number in numbers if bare)
        made = kernel.made_of(ast.Name(shape.partition("[")[0], ast.Load()))
        if any(isinstance(getattr(part, "op", None), ast.Sub) for part in made):
            yield f"{shape} >= 0"


def _left_out(
    source: Source, kernel: Kernel, access: Access
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each index of a pointer as it stands there, bare or as a column or a row, with the lengths that it may run along.

    Those that the mask leaves out come first.
    """
    pointer = _written_out(kernel, (access.pointer, *_values(kernel, access.pointer)))
    written = " ".join(source.text(one) for one in pointer)
    mask = access.mask
    behind = kernel.names_behind(mask) if mask is not None else frozenset[str]()
    known = {cut.index: cut.lengths for cut in cuts(kernel)}
    for name in sorted(_indices_in(kernel, pointer), key=lambda name: (name in behind, name)):
        made = kernel.names_behind(ast.Name(name, ast.Load()))
        lengths = tuple(dict.fromkeys(n for one in sorted(made) for n in known.get(one, ())))
        for shape in [s for s in (f"{name}[:, None]", f"{name}[None, :]") if s in written] or [name]:  # fmt: skip
            yield shape, lengths


def _written_out(kernel: Kernel, pointer: Sequence[ast.expr]) -> tuple[ast.expr, ...]:
    """Return a pointer with its offsets over several axes expanded."""
    offsets = (kernel.assigned.get(name, ()) for name in sorted(_indices_in(kernel, pointer)))
    several = [one for values in offsets for one in values if len(_indices_in(kernel, [one])) > 1]
    return tuple(several) or tuple(pointer)


def _indices_in(kernel: Kernel, pointer: Sequence[ast.expr]) -> set[str]:
    """Return the blocks of indices that are named in a pointer: what is made of a range, and is no pointer."""
    names = {n.id for one in pointer for n in ast.walk(one) if isinstance(n, ast.Name)}
    return {
        name
        for name in names - {*kernel.parameters}
        if not kernel.names_behind(value := ast.Name(name, ast.Load())) & kernel.pointers
        and any(kernel.language_name(part) == "arange" for part in kernel.made_of(value))
    }


def _everywhere(source: Source, kernel: Kernel, lines: Sequence[int]) -> Iterator[Fix]:
    """Yield a length that several accesses leave out, one at these lines among them, added to all of their masks."""
    lacking: dict[str, list[tuple[Access, str]]] = {}
    for access in kernel.accesses:
        behind = kernel.names_behind(access.mask) if access.mask is not None else frozenset[str]()
        for shape, lengths in _left_out(source, kernel, access):
            if lengths and lengths[0] not in behind:
                lacking.setdefault(lengths[0], []).append((access, shape))
    for length, places in lacking.items():
        if len(places) > 1 and any(one.call.lineno <= line <= (one.call.end_lineno or 0) for one, _ in places for line in lines):  # fmt: skip
            edits = [_below(source, kernel, access, f"({shape} < {length})") for access, shape in places]  # fmt: skip
            yield from fix(f"hold the index of every access below `{length}`", dict.fromkeys(edits))


def _below(source: Source, kernel: Kernel, access: Access, condition: str) -> Edit:
    old = f"({source.text(access.mask)}) & " if access.mask is not None else ""
    return _with_mask(source, kernel, access, f"{old}{condition}")


def _single_indices(kernel: Kernel, access: Access) -> list[str]:
    """Return the names in a pointer that hold one number, made of a program's or of a loop's."""
    names = [one.id for one in ast.walk(access.pointer) if isinstance(one, ast.Name)]
    blocks = _indices_in(kernel, [access.pointer])
    made = [one for one in dict.fromkeys(names) if one in kernel.assigned and one not in blocks]
    return [one for one in made if not kernel.names_behind(ast.Name(one, ast.Load())) & kernel.pointers]  # fmt: skip


def _neutral(source: Source, kernel: Kernel, access: Access) -> str:
    """Return what changes nothing of a kernel's result where it stands for an element past the mask."""
    named = [n for n, values in kernel.assigned.items() if any(v is access.call for v in values)]
    words = source.text(kernel.node)
    for function, value in (("max", '-float("inf")'), ("min", 'float("inf")')):
        if any(re.search(rf"\btl\.{function}\(\s*{name}\b", words) for name in named):
            return value
    return "0.0"


def _values(kernel: Kernel, name: ast.expr | None) -> tuple[ast.expr, ...]:
    return kernel.assigned.get(name.id, ()) if isinstance(name, ast.Name) else ()


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
    return add_argument(source, access.call, f"mask={mask}{other}")


FIX = FixMaker(("MEM011",), propose)
