"""BLD004: a symbol is defined twice."""

from collections.abc import Iterator

from tree_sitter import Node

from grader.rules import Context, Edit, Finding, Fix, Source, Unit, fix, rule_of
from grader.source import Extension
from grader.source.analysis.diagnostics import confirming_errors
from grader.source.code_edits import add_declarations, delete_keyword, delete_lines_of, prototype
from grader.source.nodes import around

KINDS = ("redefinition", "undefined-identifier", "no-member")


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for a second module block and for functions with two bodies."""
    for extension in source.extensions:
        if extension.call == "load_inline":
            yield from _second_module(source, extension, context)
            yield from _two_bodies(extension, context)


def _second_module(source: Source, extension: Extension, context: Context) -> Iterator[Finding]:
    for unit in extension.units if extension.functions else ():
        for node in unit.names.get("PYBIND11_MODULE", ()):
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
    """Remove either the argument or the block, `PYBIND11_MODULE(...) {...}` at file scope."""
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
    """Look for functions of cpp_sources that cuda_sources defines too."""
    for unit, first in [(one, f) for one in extension.cpp for f in one.functions]:
        there = [(other, f) for other in extension.cuda for f in other.functions]
        again = [(other, f) for other, f in there if f.name == first.name]
        evidence = confirming_errors(context, KINDS, (first.name,)) if again else ()
        if evidence and first.body is not None:
            other, second = again[0]
            where = f"line {other.place(second.node).line}"
            head = len(unit.data[: first.body.start_byte].rstrip())
            edit = unit.edit(head, first.body.end_byte, ";")
            yield RULE.finding(
                unit.place_span(first.node.start_byte, first.body.start_byte),
                f"{first.name} has a body here and another one in cuda_sources ({where}): both files define it, and the library does not link",
                evidence=evidence,
                fixes=fix("keep only the prototype in cpp_sources", [edit], certain=True),
            )


RULE = rule_of(__file__, check)
