"""STY001: something is declared and never used."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tree_sitter import Node

from grader.records import Context, Edit, Finding, Fix
from grader.rules.rule import Rule
from grader.source import Function, Source, Unit
from grader.source.code_edits import delete_line, delete_lines_of, fix
from grader.source.cpp_types import canonical
from grader.source.cuda_code import around, cuda_code, descendants, text, units
from grader.source.python_code import PythonCode, python_code

PLAIN = {"int", "unsigned", "long", "ulong", "ll", "ull", "float", "double", "bool", "char",
         "short",
         "half", "dim3"}  # fmt: skip


def check(source: Source, _context: Context) -> Iterator[Finding]:
    """Count the uses of each local, parameter, shared array and import."""
    for unit in units(source):
        if unit.resolved:
            for function in unit.functions:
                yield from _locals(unit, function)
                yield from _parameters(unit, function)
    code = python_code(source)
    if code is not None:
        yield from _imports(source, code)


def _uses(unit: Unit, function: Function, name: str) -> int:
    """Return how often a function names something, its declaration included."""
    start, end = function.node.start_byte, function.node.end_byte
    return sum(start <= node.start_byte < end for node in cuda_code(unit).names.get(name, ()))


def _locals(unit: Unit, function: Function) -> Iterator[Finding]:
    if function.body is None or function.body.has_error:
        return
    shared = {array.name for array in function.shared}
    for node in cuda_code(unit).under(function.body, "declaration"):
        declarators = node.children_by_field_name("declarator")
        for declarator in declarators:
            name = _declared(declarator)
            if name is None or _uses(unit, function, text(name)) != 1:
                continue
            array = text(name) in shared
            if not array and not _harmless(node, declarator):
                continue
            if text(name).startswith("_"):
                continue
            kind = "shared array" if array else "variable"
            yield RULE.finding(
                unit.place(declarator),
                f"the {kind} {text(name)} is declared and never used"
                + (
                    "; it takes shared memory, and often a step is missing that was to use it"
                    if array
                    else ""
                ),
                severity="warning" if array else "note",
                fixes=_delete(unit, node, len(declarators)),
            )


def _declared(declarator: Node) -> Node | None:
    here: Node | None = declarator
    while here is not None and here.type != "identifier":
        here = here.child_by_field_name("declarator")
    return here


def _harmless(declaration: Node, declarator: Node) -> bool:
    """Whether a declaration does nothing by itself: no object whose constructor acts."""
    kind = canonical(text(declaration.child_by_field_name("type")))
    pointer = declarator.type == "pointer_declarator" or "*" in text(declarator).split("=")[0]
    if kind not in PLAIN and not pointer:
        return False
    if any("extern" in text(child) for child in declaration.children[:2]):
        return False
    return not any(
        outer.type in {"for_statement", "for_range_loop"}
        and outer.child_by_field_name("body") is not None
        and outer.child_by_field_name("initializer") == declaration
        for outer in around(declaration)
    )


def _delete(unit: Unit, declaration: Node, count: int) -> tuple[Fix, ...]:
    calls = next(descendants(declaration, "call_expression"), None)
    if count != 1 or calls is not None:
        return ()
    return fix("delete the declaration", [delete_lines_of(unit, declaration)])


def _parameters(unit: Unit, function: Function) -> Iterator[Finding]:
    if function.body is None or function.body.has_error or function.runs == "host":
        return
    for parameter in function.parameters:
        unnamed = not parameter.name or parameter.name.startswith("_")
        if unnamed or _uses(unit, function, parameter.name) != 1:
            continue
        yield RULE.finding(
            unit.place(parameter.node),
            f"{function.name} never uses its parameter {parameter.name}",
        )


def _imports(source: Source, code: PythonCode) -> Iterator[Finding]:
    read = {node.id for node in code.of(ast.Name)}
    strings = " ".join(
        node.value for node in code.of(ast.Constant)
        if isinstance(node.value, str) and len(node.value) < 80
    )  # fmt: skip
    found: list[ast.Import | ast.ImportFrom] = [*code.of(ast.Import), *code.of(ast.ImportFrom)]
    for node in found:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            continue
        if any(isinstance(outer, ast.Try) for outer in code.ancestors(node)):
            continue
        for item in node.names:
            bound = (item.asname or item.name).split(".")[0]
            if bound in read or bound in {"*", "torch"} or bound in strings.split():
                continue
            only = len(node.names) == 1
            yield RULE.finding(
                source.place(node),
                f"{item.name} is imported and never used",
                fixes=fix("delete the import", _drop(source, node)) if only else (),
                folded=True,
            )


def _drop(source: Source, node: ast.stmt) -> list[Edit | None]:
    alone = source.lines[node.lineno - 1].strip() == source.text(node).strip()
    return [delete_line(source, node.lineno) if alone else None]


_BAD = """
__global__ void k(const float* x, float* y, int rows) {
    int warp_id = threadIdx.x / 32;
    __shared__ float part[32];
    y[threadIdx.x] = x[threadIdx.x];
}
"""
RULE = Rule(
    code="STY001",
    name="unused-variable-array-or-parameter",
    severity="note",
    summary="Something is declared and never used; harmless, but often a trace of a step that was forgotten.",
    why="An unused warp index or shared array marks a reduction that was begun and not finished.",
    bad=_BAD,
    good=_BAD.replace(
        "    int warp_id = threadIdx.x / 32;\n    __shared__ float part[32];\n", ""
    ).replace(", int rows", ""),
    detects=("text",),
    guards="Names that start with an underscore, objects whose constructor acts, and results of calls are left alone; imports are folded.",
    fix="Deletes the declaration.",
    check=check,
)
