"""Fixes of misaligned vector loads and stores: one element at a time, in the author's own code."""

from __future__ import annotations

import re
from collections.abc import Iterator

from grader.records import Context, Edit, Finding, Fix
from grader.repair.fixes.maker import FixMaker
from grader.source import Source, Unit
from grader.source.code_edits import fix

FIELDS = "xyzw"
POINTER = re.compile(rb"\b(float|int|double)([234])\b(?=\s*(?:const\s*)?\*)")
LABEL = "read and write vectors one element at a time, which needs no alignment"
TYPE = """\
// {scalar}{n} at any address: it is read and written one element at a time.
struct loose_{scalar}{n} {{
    {scalar} {fields};
    __host__ __device__ loose_{scalar}{n}(const {scalar}{n}& v) : {copied} {{}}
    __host__ __device__ operator {scalar}{n}() const {{ return make_{scalar}{n}({fields}); }}
}};

"""


def _loose(unit: Unit) -> Iterator[Edit | None]:
    """Put a type without alignment in place of each vector that is pointed to."""
    kinds: set[tuple[str, int]] = set()
    for found in POINTER.finditer(unit.data):
        kinds.add((found[1].decode(), int(found[2])))
        yield unit.edit(found.start(), found.start(), "loose_")
    first = min((f.node.start_byte for f in unit.functions), default=None)
    if kinds and first is not None:
        at = unit.data.rfind(b"\n", 0, first) + 1
        above = unit.data.rfind(b"\n", 0, max(at - 1, 0)) + 1
        at = above if unit.data[above:at].lstrip().startswith(b"template") else at
        yield unit.edit(at, at, "".join(_definition(*kind) for kind in sorted(kinds)))


def _definition(scalar: str, n: int) -> str:
    names = FIELDS[:n]
    copied = ", ".join(f"{x}(v.{x})" for x in names)
    return TYPE.format(scalar=scalar, n=n, fields=", ".join(names), copied=copied)


def propose(finding: Finding, source: Source, _context: Context) -> Iterator[Fix]:
    """Yield the fix of each text with a kernel that the finding names."""
    for unit in source.cuda:
        if any(kernel.name in finding.kernels for kernel in unit.kernels):
            yield from fix(LABEL, list(_loose(unit)))


FIX = FixMaker(codes=("MEM007",), propose=propose)
