"""BLD004: a symbol is defined twice."""

from collections.abc import Iterator
from itertools import product

from tree_sitter import Node

from grader.records import Context, Edit, Finding, Fix
from grader.rules.page_file import read_page
from grader.rules.rule import Rule
from grader.source import Extension, Function, Source, Unit
from grader.source.analysis.diagnostics import confirming_errors
from grader.source.analysis.signatures import are_types_known, signature
from grader.source.code_edits import (
    add_declarations,
    delete_keyword,
    delete_lines_of,
    fix,
    prototype,
)
from grader.source.cuda_code import around, cuda_code

KINDS = ("redefinition", "undefined-identifier", "no-member")
LOCAL = {"static", "inline", "__forceinline__"}
SCOPES = {"class_specifier", "struct_specifier", "compound_statement", "ERROR"}


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for a second module block and for functions with two bodies."""
    for extension in source.extensions:
        if extension.call == "load_inline":
            yield from _second_module(source, extension, context)
            yield from _two_bodies(extension, context)


def _second_module(source: Source, extension: Extension, context: Context) -> Iterator[Finding]:
    for unit in extension.units if extension.functions else ():
        for node in cuda_code(unit).names.get("PYBIND11_MODULE", ()):
            outside = list(around(node))
            if len(outside) < 2 or any("preproc" in outer.type for outer in outside):
                continue
            evidence = confirming_errors(context, ("redefinition",), ("PyInit", "pybind11_init"))
            yield RULE.finding(
                unit.place(node),
                "this PYBIND11_MODULE is a second one: load_inline writes a module of its own for "
                f"functions={list(extension.functions or ())!r}, so the library defines its entry point twice and does not link",
                evidence=evidence,
                fixes=_one_module(source, extension, unit, outside[-2]),
            )


def _one_module(source: Source, extension: Extension, unit: Unit, block: Node) -> Iterator[Fix]:
    """Leave out either the argument or the block, `PYBIND11_MODULE(...) {...}` at file scope."""
    bound = {binding.name: binding.target for each in extension.units for binding in each.bindings}
    names = extension.functions or ()
    if set(names) <= set(bound):
        edit = delete_keyword(source, extension.node, "functions")
        label = "leave functions= out: the module block exports the same names"
        yield from fix(label, [edit], certain=True)
    declared = {function.name for function in extension.declared}
    missing = [name for name in names if name not in declared]
    edits: list[Edit | None] = [delete_lines_of(unit, block)]
    if missing and all(name in extension.defined for name in missing):
        prototypes = [prototype(extension.defined[name]) for name in missing]
        edits.append(add_declarations(source, extension, prototypes))
    same = all(name == target for name, target in bound.items()) and set(bound) <= set(names)
    yield from fix("delete the module block: load_inline writes one", edits, certain=same)


def _two_bodies(extension: Extension, context: Context) -> Iterator[Finding]:
    cuda = [(unit, f) for unit in extension.cuda for f in unit.functions if _clashes(f)]
    cpp = [(unit, f) for unit in extension.cpp for f in unit.functions if _clashes(f)]
    if any(f.runs == "kernel" for _, f in cpp):
        return  # CUDA code in cpp_sources: BLD005 tells that
    for (unit, first), (other, second) in product(cpp, cuda):
        body = first.body
        if first.name == second.name and signature(first) == signature(second) and body is not None:
            where = f"line {other.place(second.node).line}"
            head = len(unit.data[: body.start_byte].rstrip())
            edit = unit.edit(head, body.end_byte, ";")
            yield RULE.finding(
                unit.place_span(first.node.start_byte, body.start_byte),
                f"{first.name} has a body here and another one in cuda_sources ({where}): both files define it, and the library does not link",
                evidence=confirming_errors(context, KINDS, (first.name,)),
                fixes=fix("keep only the prototype in cpp_sources", [edit], certain=True),
            )


def _clashes(function: Function) -> bool:
    """Whether a second body would clash: not for templates, local functions, and broken parses."""
    local = function.template_parameters or LOCAL & set(function.qualifiers)
    return (
        not local
        and are_types_known(function)
        and not any(
            outer.type in SCOPES
            or outer.type.startswith("preproc")
            or (outer.type == "namespace_definition" and outer.child_by_field_name("name") is None)
            for outer in around(function.node)
        )
    )


RULE = Rule(
    **read_page(__file__),
    detects=("text", "build"),
    languages=("cuda",),
    check=check,
    explained_by=("BLD005",),
)
