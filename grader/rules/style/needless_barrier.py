"""STY003: a barrier that protects nothing."""

from collections.abc import Iterator

from tree_sitter import Node

from grader.rules import Context, Finding, Source, Unit, fix, rule_of
from grader.source import Kernel
from grader.source.code_edits import delete_lines_of
from grader.source.cpp_reading import read_call
from grader.source.nodes import around, descendants, text


def check(source: Source, _context: Context) -> Iterator[Finding]:
    """For each barrier in a kernel's own body, compare the accesses on its two sides."""
    for unit in source.cuda:
        loud = {f.name for f in unit.device_functions if not _quiet(f.node)}
        for kernel in unit.kernels:
            body = kernel.body
            if body is not None and not body.has_error and not _unclear(unit, kernel, loud):
                yield from _kernel(unit, kernel, body)


def _quiet(node: Node) -> bool:
    """Whether a device function uses neither shared memory nor barriers."""
    return not any(m in text(node) for m in ("__shared__", "__syncthreads", "*", "[", "asm"))


def _kernel(unit: Unit, kernel: Kernel, body: Node) -> Iterator[Finding]:
    statements = [one for one in body.named_children if one.type != "comment"]
    barriers = [i for i, one in enumerate(statements) if text(one) == "__syncthreads();"]
    bounds = [-1, *barriers, len(statements)]
    for index, start, end in zip(barriers, bounds, bounds[2:], strict=False):
        before = _accesses(unit, kernel, statements[start + 1 : index])
        after = _accesses(unit, kernel, statements[index + 1 : end])
        if not any(name == other and w | v for name, w in before for other, v in after):
            last = end == len(statements) and not after
            why = (
                "nothing after it touches memory that other threads touched"
                if last
                else "no thread reads or overwrites after it what another one touched before it"
            )
            yield RULE.finding(
                unit.place(statements[index]),
                f"this barrier protects nothing: {why}",
                fixes=fix("delete the barrier", [delete_lines_of(unit, statements[index])]),
            )


def _shared_names(unit: Unit, kernel: Kernel) -> set[str]:
    """Return the shared arrays, and the global pointers that the kernel writes through."""
    arrays = {array.name for array in (*kernel.shared, *unit.shared)}
    return arrays | {p.name for p in kernel.parameters if p.is_pointer and not p.is_const}


def _unclear(unit: Unit, kernel: Kernel, loud: set[str]) -> bool:
    """Whether memory may be reached in a way that names do not show."""
    opaque = ("gnu_asm_expression", "lambda_expression")
    if kernel.body is None or any(descendants(kernel.body, *opaque)):
        return True
    shared = _shared_names(unit, kernel)
    pointers = (n.parent for n in descendants(kernel.body, "pointer_declarator") if n.parent)
    handed = [name for one in pointers for name in descendants(one, "identifier")]
    calls = [read_call(node) for node in descendants(kernel.body, "call_expression")]
    handed += [argument for call in calls for argument in call.arguments]
    return any(call.name in loud for call in calls) or any(text(one) in shared for one in handed)


def _accesses(unit: Unit, kernel: Kernel, statements: list[Node]) -> set[tuple[str, bool]]:
    """Return the names of shared memory that statements use, each with whether that writes."""
    shared = _shared_names(unit, kernel)
    return {
        (text(node), _writes(node))
        for statement in statements
        for node in descendants(statement, "identifier")
        if text(node) in shared and not _declares(node)
    }


def _declares(node: Node) -> bool:
    return any(outer.type == "array_declarator" for outer in list(around(node))[:2])


def _writes(node: Node) -> bool:
    """Whether a name's element is assigned, changed, or has its address taken."""
    here = node
    while here.parent is not None and here.parent.type == "subscript_expression":
        here = here.parent
    outer = here.parent
    if outer is None or here is node or outer.type in {"update_expression", "pointer_expression"}:
        return True
    return outer.type == "assignment_expression" and outer.child_by_field_name("left") == here


RULE = rule_of(__file__, check)
