"""IDX008: a loop's iterations are rounded down, and nothing handles the remainder."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from grader.rules import Context, Edit, Evidence, Finding, Fix, Source, Unit, fix, rule_of
from grader.source import Kernel
from grader.source.analysis.host_quotient import quotients
from grader.source.code_edits import replace_node
from grader.source.nodes import around, descendants, names_in, one_line, text
from grader.source.statements import simple_statement

DIVIDED = re.compile(r"(?P<size>[A-Za-z_]\w*)\s*(?:/|>>)\s*(?P<by>.+)", re.DOTALL)
WIDE = re.compile(r"\b(?:float|int|double|half|uint)[248]\b|__half2|__nv_bfloat162")
REAL = frozenset({"float", "double", "half", "__half", "scalar_t", "T"})
COMPARE = frozenset({"<", "<=", ">", ">=", "==", "!="})


@dataclass(frozen=True, eq=False)
class Rounded:
    """`const int turns = size / width;` and the loops bounded by it."""

    unit: Unit
    kernel: Kernel
    value: Node
    name: str
    size: str
    by: str
    loops: tuple[Node, ...]


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for quotients of a size that bound loops over memory, without a handled remainder."""
    unwritten = tuple(e for e in context.evidence if e.code.replace("_", "-") == "unwritten-output")
    wrong = bool(unwritten or context.evidence_of("mismatch"))
    for unit in source.cuda:
        for kernel in unit.kernels:
            for rounded in _rounded_launches(unit, kernel):
                yield _finding(rounded, unwritten, wrong=wrong)
        for one in quotients(unit) if unwritten else ():
            few = f"up to {one.by - 1} elements" if one.by > 2 else "one element"
            yield RULE.finding(
                unit.place(one.value),
                f"`{one.name}` rounds `{one_line(one.value)}` down, and {one.kernel} goes no further: "
                f"{few} at the end are never written where the size is no multiple of {one.by}",
                evidence=unwritten,
                kernels=(one.kernel,),
                cause="unwritten",
                root_cause=True,
            )


def _rounded_launches(unit: Unit, kernel: Kernel) -> Iterator[Rounded]:
    sizes = {p.name for p in kernel.parameters if not p.is_pointer}
    body = kernel.body
    for node in unit.nodes_under(body, "init_declarator") if body is not None else ():
        value, name = (
            node.child_by_field_name("value"),
            text(node.child_by_field_name("declarator")),
        )
        found = DIVIDED.fullmatch(text(value))
        kind = text(node.parent.child_by_field_name("type")) if node.parent is not None else ""
        if value is None or not found or found["size"] not in sizes or kind in REAL:
            continue
        loops = tuple(_bounded_loops(kernel, name))
        if loops and not _is_cared_for(kernel, name, found["size"], value):
            yield Rounded(unit, kernel, value, name, found["size"], found["by"].strip(), loops)


def _bounded_loops(kernel: Kernel, name: str) -> Iterator[Node]:
    """Yield the loops over `k < name` whose bodies use `k` in an index."""
    for loop in descendants(kernel.node, "for_statement"):
        body, counter = loop.child_by_field_name("body"), _counter(loop, name)
        if counter and body is not None and not WIDE.search(text(body)):
            if any(names_in(n) & {counter} for n in descendants(body, "binary_expression")):
                yield loop


def _counter(loop: Node, name: str) -> str:
    found = re.fullmatch(
        rf"(\w+)\s*<\s*{re.escape(name)}", text(loop.child_by_field_name("condition"))
    )
    return found[1] if found else ""


def _is_cared_for(kernel: Kernel, name: str, size: str, value: Node) -> bool:
    """Whether the kernel compares with the size, or uses the quotient outside the heads of such loops."""
    if "%" in text(kernel.body):
        return True
    for node in descendants(kernel.node, "identifier"):
        inside = value.start_byte <= node.start_byte < value.end_byte
        outer = node.parent
        if outer is None or inside or text(node) not in {name, size}:
            continue
        operators = (text(one.child_by_field_name("operator")) for one in around(node))
        compared = any(operator in COMPARE for operator in operators)
        head = outer.parent is not None and outer.parent.type == "for_statement"
        declared = outer.type in {"init_declarator", "parameter_declaration"}
        if compared if text(node) == size else not (head or declared):
            return True
    return False


def _finding(rounded: Rounded, unwritten: tuple[Evidence, ...], *, wrong: bool) -> Finding:
    lines = [str(rounded.unit.place(loop).line) for loop in rounded.loops]
    loops = f"loop in line {lines[0]} leaves" if len(lines) == 1 else f"loops in lines {', '.join(lines)} leave"  # fmt: skip
    return RULE.finding(
        rounded.unit.place(rounded.value),
        f"`{rounded.name}` rounds `{one_line(rounded.value)}` down, and nothing handles what the "
        f"{loops} over: the last elements of a size that doesn't divide are skipped",
        severity="error" if wrong else "warning",
        evidence=unwritten,
        fixes=_fixes(rounded),
        kernels=(rounded.kernel.name,),
        cause="unwritten" if unwritten else "",
        root_cause=bool(unwritten),
    )


def _fixes(rounded: Rounded) -> tuple[Fix, ...]:
    """Round up, and guard every access of the loops by a comparison with the size."""
    size, by = rounded.size, rounded.by
    by = by if re.fullmatch(r"\w+|\(.*\)", by, re.DOTALL) else f"({by})"
    edits = [replace_node(rounded.unit, rounded.value, f"({size} + {by} - 1) / {by}")]
    for loop in rounded.loops:
        edits += _guards(rounded, loop)
    label = f"take the last, partial turn as well, with a guard on each access by `{size}`"
    return fix(label, edits if "/" in text(rounded.value) else [None])


def _guards(rounded: Rounded, loop: Node) -> Iterator[Edit | None]:
    """Yield a guard for each statement of a loop that accesses global memory; None where there is no simple one."""
    moving = {_counter(loop, rounded.name), "threadIdx"}
    for made in descendants(loop, "init_declarator"):
        moving |= (
            {text(made.child_by_field_name("declarator"))} if names_in(made) & moving else set()
        )
    needed: dict[int, tuple[Node, set[str]]] = {}
    for node in descendants(loop, "subscript_expression"):
        index = _along(node.child_by_field_name("indices"), moving)
        local = text(node.child_by_field_name("argument")) in {a.name for a in rounded.unit.shared}
        if index and not local:
            own = simple_statement(node)
            needed.setdefault(own.start_byte, (own, set()))[1].add(index)
    if not needed or "__syncthreads" in text(loop):
        yield None
    for own, indices in needed.values():
        guard = " && ".join(f"{index} < {rounded.size}" for index in sorted(indices))
        plain = own.type == "expression_statement"
        yield rounded.unit.edit(own.start_byte, own.start_byte, f"if ({guard}) ") if plain else None


def _along(node: Node | None, moving: set[str]) -> str:
    """Return `i + THREADS` of `base + i + THREADS`: the part of an index that moves along the row."""
    if node is None or not names_in(node) & moving:
        return ""
    if node.type == "subscript_argument_list":
        return _along(node.named_children[0], moving)
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    fixed = left is not None and text(node.child_by_field_name("operator")) == "+" and not names_in(left) & moving  # fmt: skip
    return _along(right, moving) if fixed and _along(right, moving) else text(node)


RULE = rule_of(__file__, check)
