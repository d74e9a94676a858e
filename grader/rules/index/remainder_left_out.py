"""IDX008: a loop's turns are rounded down, and nothing handles what is left over."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tree_sitter import Node

from grader.records import Context, Edit, Evidence, Finding, Fix
from grader.rules.rule import Rule
from grader.source import Kernel, Source, Unit
from grader.source.analysis.host_quotient import Quotient, quotients
from grader.source.code_edits import fix, replace_node
from grader.source.cuda_code import cuda_code, descendants, one_line, text
from grader.source.statements import insert_before, simple_statement

DIVIDED = re.compile(r"(?P<size>[A-Za-z_]\w*)\s*(?:/|>>)\s*(?P<by>.+)", re.DOTALL)
WIDE = re.compile(r"\b(?:float|int|double|half|uint)[248]\b|__half2|__nv_bfloat162")


@dataclass(frozen=True, eq=False)
class Rounded:
    """`const int turns = size / width;` and the loops that it bounds."""

    unit: Unit
    kernel: Kernel
    value: Node
    name: str
    size: str
    loops: tuple[Node, ...]


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for quotients of a size that bound loops over memory, and whose remainder nobody takes."""
    wrong = _evidence(context)
    for unit in source.cuda:
        for kernel in unit.kernels:
            for rounded in _rounded(unit, kernel):
                yield _finding(rounded, wrong, context)
        for quotient in quotients(unit) if _unwritten(wrong) else ():
            yield _host_finding(quotient, wrong)


def _evidence(context: Context) -> tuple[Evidence, ...]:
    return tuple(
        item
        for item in context.evidence
        if item.kind == "mismatch" or item.code.replace("_", "-") == "unwritten-output"
    )


def _unwritten(wrong: Iterable[Evidence]) -> tuple[Evidence, ...]:
    """Return what shows that a part of a result was never written."""
    return tuple(item for item in wrong if item.code.replace("_", "-") == "unwritten-output")


def _rounded(unit: Unit, kernel: Kernel) -> Iterator[Rounded]:
    sizes = {p.name for p in kernel.parameters if not p.is_pointer}
    body = kernel.body
    for node in cuda_code(unit).under(body, "init_declarator") if body is not None else ():
        value = node.child_by_field_name("value")
        name = text(node.child_by_field_name("declarator"))
        found = DIVIDED.fullmatch(text(value))
        if value is None or not found or found["size"] not in sizes or not _whole(node):
            continue
        loops = tuple(_bounded(kernel, name))
        if loops and not _remainder(kernel, name, found["size"], value, loops):
            yield Rounded(unit, kernel, value, name, found["size"], loops)


def _whole(node: Node) -> bool:
    """Whether a declaration is of an integer."""
    kind = text(node.parent.child_by_field_name("type")) if node.parent is not None else ""
    return kind in {
        "int",
        "unsigned",
        "unsigned int",
        "long",
        "size_t",
        "int64_t",
        "auto",
        "long long",
    }


def _bounded(kernel: Kernel, name: str) -> Iterator[Node]:
    """Yield the loops over `k < name` whose bodies use `k` in an index."""
    for loop in descendants(kernel.node, "for_statement"):
        condition = text(loop.child_by_field_name("condition"))
        body = loop.child_by_field_name("body")
        found = re.fullmatch(rf"(\w+)\s*<\s*{re.escape(name)}", condition)
        if found and body is not None and not WIDE.search(text(body)):
            counter = re.compile(rf"\b{found[1]}\b")
            if any(counter.search(text(n)) for n in descendants(body, "binary_expression")):
                yield loop


def _remainder(kernel: Kernel, name: str, size: str, value: Node, loops: tuple[Node, ...]) -> bool:
    """Whether the kernel looks at the size or the quotient anywhere else but in these loops' heads."""
    mine = {loop.child_by_field_name("condition").start_byte for loop in loops}  # type: ignore[union-attr]
    for node in descendants(kernel.node, "identifier"):
        inside = value.start_byte <= node.start_byte < value.end_byte
        if text(node) == name and not inside:
            outer = node.parent
            head = outer is not None and outer.start_byte in mine
            declared = outer is not None and outer.type == "init_declarator"
            if not head and not declared:
                return True
        if text(node) == size and not inside and _compares(node):
            return True
    return "%" in text(kernel.body)


def _compares(node: Node) -> bool:
    here = node.parent
    while here is not None and here.type in {"binary_expression", "parenthesized_expression"}:
        operator = text(here.child_by_field_name("operator"))
        if operator in {"<", "<=", ">", ">=", "==", "!="}:
            return True
        here = here.parent
    return False


def _finding(rounded: Rounded, wrong: tuple[Evidence, ...], context: Context) -> Finding:
    lines = [str(rounded.unit.place(loop).line) for loop in rounded.loops]
    loops = (
        f"loop in line {lines[0]} leaves"
        if len(lines) == 1
        else f"loops in lines {', '.join(lines)} leave"
    )
    proof = _unwritten(wrong)
    likely = bool(wrong) or context.device == "none"
    return RULE.finding(
        rounded.unit.place(rounded.value),
        f"`{rounded.name}` rounds `{' '.join(text(rounded.value).split())}` down, and nothing handles what the "
        f"{loops} over: the last elements of a size that doesn't divide are skipped",
        severity="error" if wrong else "warning",
        confidence="proven" if proof else "likely" if likely else "possible",
        evidence=proof,
        fixes=_fixes(rounded),
        kernels=(rounded.kernel.name,),
        cause="unwritten" if proof else "",
        root_cause=bool(proof),
    )


def _host_finding(quotient: Quotient, wrong: tuple[Evidence, ...]) -> Finding:
    few = f"up to {quotient.by - 1} elements" if quotient.by > 2 else "one element"
    return RULE.finding(
        quotient.unit.place(quotient.value),
        f"`{quotient.name}` rounds `{one_line(quotient.value)}` down, and {quotient.kernel} goes no further: "
        f"{few} at the end are never written where the size is no multiple of {quotient.by}",
        evidence=_unwritten(wrong),
        kernels=(quotient.kernel,),
        cause="unwritten",
        root_cause=True,
    )


def _fixes(rounded: Rounded) -> Iterator[Fix]:
    """Round up, and take every access of the loops under a comparison with the size."""
    divided = DIVIDED.fullmatch(text(rounded.value))
    if divided is None or ">>" in text(rounded.value):
        return
    size, by = divided["size"], divided["by"].strip()
    by = by if re.fullmatch(r"\w+|\(.*\)", by, re.DOTALL) else f"({by})"
    edits: list[Edit | None] = [
        replace_node(rounded.unit, rounded.value, f"({size} + {by} - 1) / {by}")
    ]
    for loop in rounded.loops:
        guards = _guards(rounded, loop)
        if not guards:
            return
        edits += guards
    yield from fix(
        f"take the last, partial turn as well, with a guard on each access by `{size}`", edits
    )


def _guards(rounded: Rounded, loop: Node) -> list[Edit | None]:
    """Return the guards of one loop; an empty list where its body has none that is simple."""
    body = loop.child_by_field_name("body")
    accesses = _accesses(rounded, body) if body is not None else []
    indices = list(dict.fromkeys(index for _, index in accesses))
    if not accesses or body is None or "__syncthreads" in text(body):
        return []
    first = simple_statement(accesses[0][0])
    if len(indices) == 1 and first.parent is not None and first.parent.id == body.id:
        return [
            insert_before(rounded.unit, first, f"if ({indices[0]} >= {rounded.size}) continue;")
        ]
    edits: list[Edit | None] = []
    by_statement: dict[int, tuple[Node, dict[str, None]]] = {}
    for node, index in accesses:
        own = simple_statement(node)
        by_statement.setdefault(own.start_byte, (own, {}))[1][index] = None
    for own, needed in by_statement.values():
        if own.type != "expression_statement":
            return []
        guard = " && ".join(f"{index} < {rounded.size}" for index in needed)
        edits.append(rounded.unit.edit(own.start_byte, own.start_byte, f"if ({guard}) "))
    return edits


def _accesses(rounded: Rounded, body: Node) -> list[tuple[Node, str]]:
    """Return the accesses to global memory in a loop's body, with the index along the row."""
    shared = {array.name for array in rounded.unit.shared}
    moving = _moving(rounded, body)
    found = []
    for node in descendants(body, "subscript_expression"):
        index = node.child_by_field_name("indices")
        if text(node.child_by_field_name("argument")) in shared or index is None:
            continue
        row = _along(index.named_children[0], moving) if index.named_children else ""
        if row:
            found.append((node, row))
    return found


def _moving(rounded: Rounded, body: Node) -> set[str]:
    """Return the names that change along a row: the counter, the thread's number, what is made of them."""
    counter = (
        text(body.parent.child_by_field_name("condition")).split("<")[0].strip()
        if body.parent
        else ""
    )
    moving = {counter, "threadIdx"}
    scope = rounded.kernel.body
    for node in descendants(scope, "init_declarator") if scope is not None else ():
        words = {text(n) for n in descendants(node, "identifier")}
        named = text(node.child_by_field_name("declarator"))
        pointer = node.child_by_field_name("declarator")
        if words - {named} & moving and pointer is not None and pointer.type == "identifier":
            if words & moving and "blockIdx" not in text(node):
                moving.add(named)
    return moving


def _along(node: Node, moving: set[str]) -> str:
    """Return `i + THREADS` of `base + i + THREADS`: the part of an index that moves along the row."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if node.type == "binary_expression" and left is not None and right is not None:
        if text(node.child_by_field_name("operator")) == "+" and not _moves(left, moving):
            if _moves(right, moving):
                return _along(right, moving)
    return text(node) if _moves(node, moving) else ""


def _moves(node: Node, moving: set[str]) -> bool:
    names = descendants(node, "identifier")
    return any(text(name) in moving for name in names)


_BAD = """
__global__ void scale(const float* x, float* y, int cols) {
    const float* row = x + (size_t)blockIdx.x * cols;
    float* out = y + (size_t)blockIdx.x * cols;
    const int turns = cols / (2 * 256);
    for (int k = 0; k < turns; ++k) {
        const int i = k * 2 * 256 + threadIdx.x;
        out[i] = row[i] * 2.0f;
        out[i + 256] = row[i + 256] * 2.0f;
    }
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    scale<<<x.size(0), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""
_GOOD = _BAD.replace(
    "    const int turns",
    "    for (int i = cols - cols % 512 + threadIdx.x; i < cols; i += 256) out[i] = row[i] * 2.0f;\n    const int turns",
)

RULE = Rule(
    code="IDX008",
    name="remainder-left-out",
    severity="error",
    summary="A loop's number of turns is a size divided by the elements of one turn, rounded down; the last elements are never touched.",
    why="Unrolled and tiled loops take several elements a turn. A size that isn't a multiple leaves some over, which need a loop of "
    "their own or a last turn with guards; a reduction without them misses their part, and an output keeps whatever was in memory.",
    bad=_BAD,
    good=_GOOD,
    detects=("text", "evidence"),
    guards="Kernels that take a remainder anywhere, compare with the size, or look at the quotient outside of the "
    "loop's head are not reported; nor are loops over vector types. Without a wrong result it is a warning.",
    fix="Rounds the turns up and guards each access of the loop.",
    check=check,
)
