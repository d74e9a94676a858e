"""Fixes of vector loads and stores at any address: one element at a time, in the author's own words."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from grader.records import Context, Edit, Finding, Fix
from grader.repair.fixes.maker import FixMaker
from grader.source import Source, Unit
from grader.source.code_edits import delete_lines_of, fix
from grader.source.cuda_code import descendants, text

FIELDS = "xyzw"
POINTER = re.compile(rb"\b(float|int|double)([234])\b(?=\s*(?:const\s*)?\*)")
LOADED = re.compile(
    r"\*\s*(?:reinterpret_cast<\s*(?:const\s+)?\w+\s*(?:const\s*)?\*\s*>|\(\s*(?:const\s+)?\w+\s*\*\s*\))"
    r"\s*\(?\s*&\s*(\w+)\[(.*)\]\s*\)?",
    re.DOTALL,
)
TYPE = """\
// {scalar}{n} at any address: it is read and written one element at a time.
struct loose_{scalar}{n} {{
    {scalar} {fields};
    __host__ __device__ loose_{scalar}{n}(const {scalar}{n}& v) : {copied} {{}}
    __host__ __device__ operator {scalar}{n}() const {{ return make_{scalar}{n}({fields}); }}
}};

"""


def element_by_element(unit: Unit, kernel: Node) -> Iterator[Fix]:
    """Yield the ways to do without vectors that must be aligned: only the elements used, or all of them."""
    yield from fix(
        "read only the elements that are used, one at a time", list(_used_only(unit, kernel))
    )
    yield from fix(
        "read and write vectors one element at a time, which needs no alignment",
        list(_loose(unit)),
    )


def _used_only(unit: Unit, kernel: Node) -> Iterator[Edit | None]:
    """Put `p[e + 1]` for `v.y` where `v` is a vector that was loaded from `p[e]` and is only read."""
    for declared in descendants(kernel, "declaration"):
        made = [c for c in declared.named_children if c.type == "init_declarator"]
        found = LOADED.fullmatch(text(made[0].child_by_field_name("value"))) if made else None
        block = declared.parent
        if len(made) != 1 or found is None or block is None:
            continue
        name = text(made[0].child_by_field_name("declarator"))
        fields = [f for f in descendants(block, "field_expression") if _owner(f) == name]
        named = [n for n in descendants(block, "identifier") if text(n) == name]
        if len(named) != len(fields) + 1 or any(_written(f) for f in fields):
            continue
        yield delete_lines_of(unit, declared)
        for field in fields:
            yield unit.edit(field.start_byte, field.end_byte, _element(field, *found.groups()))


def _owner(field: Node) -> str:
    return text(field.child_by_field_name("argument"))


def _written(field: Node) -> bool:
    parent = field.parent
    return (
        parent is not None
        and parent.type == "assignment_expression"
        and parent.child_by_field_name("left") == field
    )


def _element(field: Node, array: str, index: str) -> str:
    k = FIELDS.find(text(field.child_by_field_name("field")))
    return f"{array}[{index} + {k}]" if k else f"{array}[{index}]"


def _loose(unit: Unit) -> Iterator[Edit | None]:
    """Put a type without alignment in the place of each vector that is pointed to."""
    kinds: set[tuple[str, int]] = set()
    for found in POINTER.finditer(unit.data):
        kinds.add((found[1].decode(), int(found[2])))
        yield unit.edit(found.start(), found.start(), "loose_")
    first = min((f.node.start_byte for f in unit.functions), default=None)
    if kinds and first is not None:
        at = unit.data.rfind(b"\n", 0, first) + 1
        at = _before_template(unit.data, at)
        yield unit.edit(at, at, "".join(_definition(*kind) for kind in sorted(kinds)))


def _before_template(data: bytes, at: int) -> int:
    """Return where a function's line begins, or the line of the `template <...>` over it."""
    above = data.rfind(b"\n", 0, max(at - 1, 0)) + 1
    return above if data[above:at].lstrip().startswith(b"template") else at


def _definition(scalar: str, n: int) -> str:
    names = FIELDS[:n]
    copied = ", ".join(f"{x}(v.{x})" for x in names)
    return TYPE.format(scalar=scalar, n=n, fields=", ".join(names), copied=copied)


def propose(finding: Finding, source: Source, _context: Context) -> Iterator[Fix]:
    """Yield the ways for the kernels that the text shows."""
    for unit in source.cuda:
        for kernel in unit.kernels:
            if kernel.name in finding.kernels:
                yield from element_by_element(unit, kernel.node)


FIX = FixMaker(codes=("MEM007",), propose=propose)
