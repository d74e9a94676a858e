"""Slips in one node at the line of a message: a table row for each, with its replacement."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tree_sitter import Node

from grader.records import Edit, Fix
from grader.repair.fixes.compiler.diagnostic import Diagnostic
from grader.source import Unit
from grader.source.analysis.kernel_accesses import written_through
from grader.source.code_edits import delete_lines_of, fix, replace_node
from grader.source.cpp_reading import read_call
from grader.source.cpp_types import type_of
from grader.source.nodes import descendants, text
from grader.source.rewriting.launch_arguments import with_all_arguments

Edits = Iterator[Edit | None]
MAKERS = {"empty", "zeros", "ones", "full", "rand", "randn"}
SHAPING = {"reshape", "view", "expand", "permute", "repeat"}
WHOLE = {"int", "long", "unsigned", "ulong", "ll", "ull"}


def left_out(found: Diagnostic) -> Iterator[Fix]:
    """Yield the fix that passes a call's missing arguments, by the names of the parameters."""
    for unit, call in found.calls() if found.kind == "argument-count" else ():
        for callee in (one for one in unit.functions if one.name == call.name):
            yield from with_all_arguments(unit, call.node, call.arguments, callee.parameters)


def _in_braces(_found: Diagnostic, unit: Unit, node: Node) -> Edits:
    """Put sizes in braces where C++ takes a list of them: of a new tensor, of a convolution's strides."""
    call = read_call(node)
    if re.fullmatch(r"(?:torch|at)::conv[123]d", call.qualified):
        plain = (one for one in call.arguments[3:6] if type_of(unit, one) in WHOLE)
        yield from (replace_node(unit, one, f"at::IntArrayRef({{{text(one)}}})") for one in plain)
    if call.name in MAKERS or (call.name in SHAPING and call.base is not None):
        most = 1 if call.name == "full" else len(call.arguments)  # the first alone may be a size
        whole = [type_of(unit, one) in WHOLE for one in call.arguments[:most]]
        sizes = call.arguments[: whole.index(False) if False in whole else len(whole)]
        if sizes:
            yield unit.edit(sizes[0].start_byte, sizes[0].start_byte, "{")
            yield unit.edit(sizes[-1].end_byte, sizes[-1].end_byte, "}")


def _convert_in_braces(found: Diagnostic, unit: Unit, node: Node) -> Edits:
    """Convert the elements in braces to the required type."""
    kind = next((name for name in found.names if name), "")
    for one in node.named_children if kind else ():
        if one.type not in {"number_literal", "initializer_list", "comment"}:
            yield unit.edit(one.start_byte, one.start_byte, f"static_cast<{kind}>(")
            yield unit.edit(one.end_byte, one.end_byte, ")")


def _writable(_found: Diagnostic, unit: Unit, node: Node) -> Edits:
    """Remove the `const` of the parameter or variable that is written to, or through."""
    target = node.child_by_field_name("left") or node.child_by_field_name("argument")
    name = text(next(descendants(target, "identifier"), None)) if target is not None else ""
    function = unit.function_around(node)
    kinds = ("parameter_declaration", "declaration")
    for made in descendants(function.node, *kinds) if function is not None and name else ():
        declarator = made.child_by_field_name("declarator")
        named = next(descendants(declarator, "identifier"), None) if declarator else None
        for child in made.children if text(named) == name else ():
            if child.type == "type_qualifier" and text(child) == "const":
                rest = unit.data[child.end_byte :]
                spaces = len(rest) - len(rest.lstrip(b" "))
                yield unit.edit(child.start_byte, child.end_byte + spaces, "")


def _to_const(found: Diagnostic, unit: Unit, node: Node) -> Edits:
    """Declare a pointer as one to const where one to const is put into it."""
    kind = node.child_by_field_name("type")
    pointers = any(True for _ in descendants(node, "pointer_declarator"))
    loses = any("const " in one for one in found.names)
    if loses and kind is not None and pointers and "const" not in text(node).partition("*")[0]:
        yield unit.edit(kind.start_byte, kind.start_byte, "const ")


def _taking_const(found: Diagnostic, unit: Unit, node: Node) -> Edits:
    """Make a function that only reads accept pointers to const, where it gets one."""
    for function in unit.functions if found.names[0].startswith("const ") else ():
        if function.name == read_call(node).name and function.runs != "kernel":
            for one in function.parameters:
                plain = one.is_pointer and "const" not in one.type
                if plain and not written_through(unit, function, one.name):
                    yield unit.edit(one.node.start_byte, one.node.start_byte, "const ")


def _assign_instead(_found: Diagnostic, unit: Unit, node: Node) -> Edits:
    """Assign to an existing variable, instead of redeclaring it."""
    made = list(descendants(node, "init_declarator"))
    if len(made) == 1 and unit.function_around(node) is not None:
        yield unit.edit(node.start_byte, made[0].start_byte, "")


def _without_values(_found: Diagnostic, unit: Unit, node: Node) -> Edits:
    """Drop the first values of shared memory, which it can't have."""
    for made in descendants(node, "init_declarator") if "__shared__" in text(node) else ():
        declarator = made.child_by_field_name("declarator")
        if declarator is not None:
            yield unit.edit(declarator.end_byte, made.end_byte, "")


def _without_header(found: Diagnostic, unit: Unit, node: Node) -> Edits:
    """Drop an include: helpers of samples and of other projects are rarely used."""
    if text(node.child_by_field_name("path")).strip('<>"') == found.names[0]:
        yield delete_lines_of(unit, node)


def without_c_linkage(found: Diagnostic) -> Iterator[Fix]:
    """Remove an invalid `extern "C"`."""
    for unit in found.source.cuda if found.kind == "c-linkage" else ():
        for node in unit.nodes("linkage_specification"):
            body = node.child_by_field_name("body")
            first, last = unit.place(node).line, unit.place(node).end_line
            if body is not None and first <= found.line <= last:
                braces = body.type == "declaration_list"
                start, end = (1, -1) if braces else (0, None)
                inside = replace_node(unit, node, text(body)[start:end])
                yield from fix('declare it as C++, without `extern "C"`', [inside])


@dataclass(frozen=True)
class Row:
    """The change of nodes of these types on a message's line, for messages of these kinds."""

    label: str
    kinds: frozenset[str]
    nodes: tuple[str, ...]
    edits: Callable[[Diagnostic, Unit, Node], Edits]


def _row(label: str, kinds: str, nodes: str, edits: Callable[[Diagnostic, Unit, Node], Edits]) -> Row:  # fmt: skip
    return Row(label, frozenset(kinds.split()), tuple(nodes.split()), edits)


ROWS = (
    _row("put the sizes in braces", "no-overload no-conversion ambiguous-call argument-type argument-count", "call_expression", _in_braces),
    _row("convert it to the type that is asked for", "narrowing", "initializer_list", _convert_in_braces),
    _row("let it be written to", "modify-constant", "assignment_expression update_expression", _writable),
    _row("make it a pointer to const", "no-conversion", "declaration", _to_const),
    _row("let the function take pointers to const", "argument-type", "call_expression", _taking_const),
    _row("assign to the variable that is there", "redefinition", "declaration", _assign_instead),
    _row("leave the shared array without first values", "shared-initialiser", "declaration", _without_values),
    _row("drop the header that is not there", "missing-header", "preproc_include", _without_header),
)  # fmt: skip


def changed_nodes(found: Diagnostic) -> Iterator[Fix]:
    """Yield the fixes of the rows for a message's kind."""
    for row in ROWS:
        if found.kind in row.kinds:
            places = found.nodes(*row.nodes)
            made = (edit for unit, node in places for edit in row.edits(found, unit, node))
            yield from fix(row.label, dict.fromkeys(made))
