"""Fixes of blocks whose shapes don't fit: `[:, None]` or `[None, :]` where the rest of the kernel has it."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from itertools import product

from grader.records import Context, Edit, Finding, Fix
from grader.repair.fixes.maker import FixMaker
from grader.source import Source
from grader.source.analysis.triton import Kernel, kernels
from grader.source.code_edits import fix, replace

COLUMN, ROW = "[:, None]", "[None, :]"
MOST = 6
"""Forms of a statement that are tried."""
ONE_AXIS = frozenset({"sum", "max", "min", "argmax", "argmin", "arange"})
_AXIS = re.compile(r"(\w+)\[(:, None|None, :)\]")


def propose(finding: Finding, source: Source, context: Context) -> Iterator[Fix]:
    """Yield the refused statement, and those that make what it uses, with each row and column as elsewhere."""
    del context
    if not any(item.code == "incompatible-shapes" for item in finding.evidence):
        return
    lines = {item.place.line for item in finding.evidence if item.place is not None}
    for kernel in kernels(source):
        for node in _statements(kernel, lines):
            yield from _broadcast(source, kernel, node)


def _statements(kernel: Kernel, lines: set[int]) -> list[ast.stmt]:
    """Return the statements at some lines, and those that make what they use."""
    simple = [one for one in ast.walk(kernel.node) if isinstance(one, ast.stmt) and not hasattr(one, "body")]  # fmt: skip
    there = [one for one in simple if any(one.lineno <= n <= (one.end_lineno or 0) for n in lines)]
    used = {n.id for one in there for n in ast.walk(one) if isinstance(n, ast.Name)}
    made = [
        one
        for one in simple
        if isinstance(one, ast.Assign)
        and any(isinstance(t, ast.Name) and t.id in used for t in one.targets)
    ]
    return list(dict.fromkeys((*there, *made)))


def _broadcast(source: Source, kernel: Kernel, node: ast.stmt) -> Iterator[Fix]:
    """Yield a statement with each bare block of one axis as it stands elsewhere; of unknown ones each way."""
    usual = _usual(source, kernel)
    bare = [one for one in _bare(node) if one.id in usual]
    names = list(dict.fromkeys(one.id for one in bare))
    for shapes in list(product(*(usual[name] for name in names)))[:MOST]:
        by_name = dict(zip(names, shapes, strict=True))
        edits: list[Edit | None] = [replace(source, one, f"{one.id}{by_name[one.id]}") for one in bare]  # fmt: skip
        said = ", ".join(f"`{name}{shape}`" for name, shape in by_name.items())
        yield from fix(f"give each block its axis: {said}", edits) if edits else ()
    yield from _turned(source, node)


def _bare(node: ast.stmt) -> Iterator[ast.Name]:
    """Yield the names in a statement's value that no axis is added to."""
    value = getattr(node, "value", None)
    inside = {id(o.value) for o in ast.walk(node) if isinstance(o, ast.Subscript | ast.Attribute)}
    for one in ast.walk(value) if value is not None else ():
        if isinstance(one, ast.Name) and id(one) not in inside:
            yield one


def _usual(source: Source, kernel: Kernel) -> dict[str, tuple[str, ...]]:
    """Return how each block of one axis stands in products with others: as most often elsewhere, else either way."""
    elsewhere = Counter(_AXIS.findall(source.text(kernel.node)))
    counted: dict[str, Counter[str]] = {}
    for (name, axis), times in elsewhere.items():
        counted.setdefault(name, Counter())[f"[{axis}]"] += times
    found = {name: tuple(axis for axis, _ in axes.most_common()) for name, axes in counted.items()}
    for name, values in kernel.assigned.items():
        made = (part for value in values for part in ast.walk(value) if isinstance(part, ast.expr))
        if name not in found and any(kernel.language_name(part) in ONE_AXIS for part in made):
            found[name] = (COLUMN, ROW)
    return found


def _turned(source: Source, node: ast.stmt) -> Iterator[Fix]:
    """Yield a statement with one of its axes added on the other side, or taken the other way."""
    for one in ast.walk(node):
        if (
            isinstance(one, ast.keyword)
            and one.arg == "axis"
            and isinstance(one.value, ast.Constant)
        ):
            edit = replace(source, one.value, "0" if one.value.value else "1")
            yield from fix(f"take the other axis: `axis={edit.text}`", [edit])
        if isinstance(one, ast.Subscript):
            words = source.text(one)
            for old, new in ((COLUMN, ROW), (ROW, COLUMN)):
                if words.endswith(old):
                    edit = replace(source, one, words.removesuffix(old) + new)
                    yield from fix(f"add the other axis: `{edit.text}`", [edit])


FIX = FixMaker(("BLD021",), propose)
