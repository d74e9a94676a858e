"""Where `const` stands in the way, or is missing: what is written to, and pointers to const that are handed on."""

from __future__ import annotations

from tree_sitter import Node

from grader.records import Edit, Fix
from grader.repair.fixes.compiler.diagnostic import Diagnostic
from grader.source import Unit
from grader.source.analysis.written_through import written_through
from grader.source.code_edits import fix
from grader.source.cuda_code import cuda_code, descendants, text


def writable(found: Diagnostic) -> tuple[Fix, ...]:
    """Take the `const` off what is written to on a line: a parameter, or a local variable."""
    if found.kind != "modify-constant":
        return ()
    for unit, node in found.nodes("assignment_expression", "update_expression"):
        name = _base(node.child_by_field_name("left") or node.child_by_field_name("argument"))
        edit = _without_const(unit, node, name) if name else None
        if edit is not None:
            return fix(f"let {name} be written to", [edit])
    return ()


def _base(target: Node | None) -> str:
    """Return the name of what is written to, or through."""
    while target is not None and target.type != "identifier":
        inner = target.child_by_field_name("argument")
        target = inner if inner is not None else next(iter(target.named_children), None)
    return text(target)


def _without_const(unit: Unit, node: Node, name: str) -> Edit | None:
    function = cuda_code(unit).function(node)
    kinds = ("parameter_declaration", "declaration")
    for made in descendants(function.node, *kinds) if function is not None else ():
        declarator = made.child_by_field_name("declarator")
        named = [text(one) for one in descendants(declarator, "identifier")] if declarator else []
        if named[:1] != [name]:
            continue
        for child in made.children:
            if child.type == "type_qualifier" and text(child) == "const":
                end = child.end_byte
                while unit.data[end : end + 1] == b" ":
                    end += 1
                return unit.edit(child.start_byte, end, "")
    return None


def kept_const(found: Diagnostic) -> tuple[Fix, ...]:
    """Declare a pointer as one to const where one to const is put into it."""
    loses = found.kind == "no-conversion" and any("const " in one for one in found.names)
    edits = []
    for unit, node in found.nodes("declaration") if loses else ():
        kind = node.child_by_field_name("type")
        pointers = any(True for _ in descendants(node, "pointer_declarator"))
        if kind is not None and pointers and "const" not in text(node).partition("*")[0]:
            edits.append(unit.edit(kind.start_byte, kind.start_byte, "const "))
    return fix("make it a pointer to const", edits)


def takes_const(found: Diagnostic) -> tuple[Fix, ...]:
    """Let a function that only reads take pointers to const, where it is handed one."""
    handed = found.kind == "argument-type" and found.names[0].startswith("const ")
    for unit, call in found.calls() if handed else ():
        for function in unit.functions:
            if function.name == call.last and function.runs != "kernel":
                starts = [
                    p.node.start_byte
                    for p in function.parameters
                    if p.is_pointer and "const" not in p.type
                    if not written_through(unit, function, p.name)
                ]
                edits = [unit.edit(start, start, "const ") for start in starts]
                return fix(f"let {function.name} take pointers to const", edits)
    return ()
