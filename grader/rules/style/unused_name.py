"""STY001: a name is declared and never used."""

import ast
from collections.abc import Iterator

from tree_sitter import Node

from grader.rules import Context, Finding, Source, Unit, fix, rule_of
from grader.source import Function
from grader.source.code_edits import delete_line, delete_lines_of
from grader.source.cpp_types import canonical
from grader.source.nodes import around, descendants, text
from grader.source.python_code import PythonCode

PLAIN = {"int", "unsigned", "long", "ulong", "ll", "ull", "float", "double", "bool", "char", "short", "half", "dim3"}  # fmt: skip


def check(source: Source, _context: Context) -> Iterator[Finding]:
    """Count the uses of each local, parameter, shared array and import."""
    for unit in source.units:
        for function in unit.functions if unit.resolved else ():
            if function.body is not None and not function.body.has_error:
                yield from _locals(unit, function, function.body)
                yield from _parameters(unit, function)
    yield from _imports(source, source.module)


def _is_unused(unit: Unit, function: Function, name: str) -> bool:
    """Whether a function names something only in its declaration, without marking it as unused."""
    start, end = function.node.start_byte, function.node.end_byte
    named = unit.names.get(name, ())
    uses = sum(start <= node.start_byte < end for node in named)
    return bool(name) and not name.startswith("_") and uses == 1


def _locals(unit: Unit, function: Function, body: Node) -> Iterator[Finding]:
    shared = {array.name for array in function.shared}
    for node in unit.nodes_under(body, "declaration"):
        declarators = node.children_by_field_name("declarator")
        alone = len(declarators) == 1 and not any(descendants(node, "call_expression"))
        for declarator in declarators:
            name = text(_declared_name(declarator))
            array = name in shared
            if _is_unused(unit, function, name) and (array or _is_harmless(node, declarator)):
                more = "; it takes shared memory, and often a step is missing that was to use it"
                edits = [delete_lines_of(unit, node)] if alone else []
                yield RULE.finding(
                    unit.place(declarator),
                    f"the {'shared array' if array else 'variable'} {name} is declared and never used{more if array else ''}",
                    severity="warning" if array else "note",
                    fixes=fix("delete the declaration", edits),
                )


def _declared_name(declarator: Node) -> Node | None:
    here: Node | None = declarator
    while here is not None and here.type != "identifier":
        here = here.child_by_field_name("declarator")
    return here


def _is_harmless(declaration: Node, declarator: Node) -> bool:
    """Whether a declaration has no effect: no object with an active constructor, and no loop counter."""
    kind = canonical(text(declaration.child_by_field_name("type")))
    pointer = declarator.type == "pointer_declarator" or "*" in text(declarator).split("=")[0]
    extern = any("extern" in text(child) for child in declaration.children[:2])
    heads = (outer.child_by_field_name("initializer") for outer in around(declaration))
    return (kind in PLAIN or pointer) and not extern and declaration not in list(heads)


def _parameters(unit: Unit, function: Function) -> Iterator[Finding]:
    for parameter in function.parameters if function.runs != "host" else ():
        if _is_unused(unit, function, parameter.name):
            said = f"{function.name} never uses its parameter {parameter.name}"
            yield RULE.finding(unit.place(parameter.node), said)


def _imports(source: Source, code: PythonCode) -> Iterator[Finding]:
    strings = (node.value for node in code.of(ast.Constant) if isinstance(node.value, str))
    used = {word for one in strings if len(one) < 80 for word in one.split()}
    used |= {"*", "torch", *(node.id for node in code.of(ast.Name))}
    found: list[ast.Import | ast.ImportFrom] = [*code.of(ast.Import), *code.of(ast.ImportFrom)]
    for node in found:
        future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        tried = any(isinstance(outer, ast.Try) for outer in code.ancestors(node))
        alone = source.lines[node.lineno - 1].strip() == source.text(node).strip()
        edits = [delete_line(source, node.lineno)] if alone and len(node.names) == 1 else []
        for item in node.names if not (future or tried) else ():
            if (item.asname or item.name).split(".")[0] not in used:
                yield RULE.finding(
                    source.place(node),
                    f"{item.name} is imported and never used",
                    fixes=fix("delete the import", edits),
                    folded=True,
                )


RULE = rule_of(__file__, check)
