"""BLD004: a symbol is defined twice."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from tree_sitter import Node

from grader.records import Context, Edit, Finding, Fix
from grader.rules.rule import Rule
from grader.source import Extension, Function, Source, Unit
from grader.source.analysis.diagnostics import confirming
from grader.source.analysis.signatures import known, signature
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


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for a second module block and for functions with two bodies."""
    for extension in source.extensions:
        if extension.call == "load_inline":
            yield from _second_module(source, extension, context)
            yield from _two_bodies(extension, context)


def _second_module(source: Source, extension: Extension, context: Context) -> Iterator[Finding]:
    if not extension.functions:
        return
    for unit in extension.units:
        for node in cuda_code(unit).names.get("PYBIND11_MODULE", ()):
            block = _block(node)
            if block is None or any("preproc" in outer.type for outer in around(node)):
                continue
            evidence = confirming(context, ("redefinition",), ("PyInit", "pybind11_init"))
            yield RULE.finding(
                unit.place(node),
                "this PYBIND11_MODULE is a second one: load_inline writes a module of its own for "
                f"functions={list(extension.functions)!r}, so the library defines its entry point twice and does not link",
                evidence=evidence,
                fixes=_module_fixes(source, extension, unit, block),
            )


def _module_fixes(source: Source, extension: Extension, unit: Unit, block: Node) -> tuple[Fix, ...]:
    bound = {binding.name: binding.target for each in extension.units for binding in each.bindings}
    names = extension.functions or ()
    drop_argument = (
        fix(
            "leave functions= out: the module block exports the same names",
            [delete_keyword(source, extension.node, "functions")],
            certain=True,
        )
        if set(names) <= set(bound)
        else ()
    )
    declared = {f.name for each in extension.cpp for f in (*each.functions, *each.declarations)}
    defined = {f.name: f for each in extension.cuda for f in each.functions}
    missing = [name for name in names if name not in declared]
    edits: list[Edit | None] = [delete_lines_of(unit, block)]
    if missing and all(name in defined for name in missing):
        edits.append(
            add_declarations(source, extension, [prototype(defined[name]) for name in missing])
        )
    same = all(name == target for name, target in bound.items()) and set(bound) <= set(names)
    drop_block = fix("delete the module block: load_inline writes one", edits, certain=same)
    return drop_argument + drop_block


def _block(node: Node) -> Node | None:
    """Return the whole `PYBIND11_MODULE(...) {...}` at file scope."""
    here = node
    for outer in around(node):
        if outer.type == "translation_unit":
            return here if here is not node else None
        here = outer
    return None


def _two_bodies(extension: Extension, context: Context) -> Iterator[Finding]:
    cuda = [(unit, f) for unit in extension.cuda for f in unit.functions if _counts(f)]
    cpp = [(unit, f) for unit in extension.cpp for f in unit.functions if _counts(f)]
    if any(f.runs == "kernel" for _, f in cpp):
        return  # CUDA code in cpp_sources: BLD005 tells that
    for (unit, first), (other, second) in product(cpp, cuda):
        if _same(first, second):
            yield _finding(unit, first, other, second, context)


def _finding(
    unit: Unit, function: Function, other: Unit, first: Function, context: Context
) -> Finding:
    evidence = confirming(context, KINDS, (function.name,))
    where = f"line {other.place(first.node).line}"
    message = f"{function.name} has a body here and another one in cuda_sources ({where}): both files define it, and the library does not link"
    body = function.body
    return RULE.finding(
        unit.place_span(function.node.start_byte, body.start_byte if body else 0)
        if body is not None and body.start_byte > function.node.start_byte
        else unit.place(function.node),
        message,
        evidence=evidence,
        fixes=_keep_one(unit, function),
    )


def _keep_one(unit: Unit, function: Function) -> tuple[Fix, ...]:
    body = function.body
    if body is None:
        return ()
    start = len((unit.data[: body.start_byte]).rstrip())
    edit = unit.edit(start, body.end_byte, ";")
    return fix("keep only the prototype in cpp_sources", [edit], certain=True)


def _counts(function: Function) -> bool:
    """Whether a second body would clash: not for templates, local functions, and broken parses."""
    return (
        not function.template_parameters
        and not LOCAL & set(function.qualifiers)
        and known(function)
        and not any(
            outer.type in {"class_specifier", "struct_specifier", "compound_statement", "ERROR"}
            or outer.type.startswith("preproc")
            or (outer.type == "namespace_definition" and outer.child_by_field_name("name") is None)
            for outer in around(function.node)
        )
    )


def _same(first: Function, second: Function) -> bool:
    return (
        first.name == second.name
        and first.node != second.node
        and signature(first) == signature(second)
    )


RULE = Rule(
    code="BLD004",
    name="duplicate-definition",
    severity="error",
    summary="The same symbol is defined twice, so compiling or linking fails.",
    why="With `functions=` load_inline writes a PYBIND11_MODULE of its own; a second one in the sources defines the entry point again. A "
    "function with a body in cpp_sources and in cuda_sources is compiled twice as well.",
    bad='''
import torch
from torch.utils.cpp_extension import load_inline
src = """
#include <torch/extension.h>
torch::Tensor f(torch::Tensor x) { return x; }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("f", &f);
}
"""
ext = load_inline(name="e", cpp_sources="torch::Tensor f(torch::Tensor x);",
                  cuda_sources=src, functions=["f"])
''',
    good='''
import torch
from torch.utils.cpp_extension import load_inline
src = """
#include <torch/extension.h>
static int twice(int a) { return 2 * a; }
static float twice(float a) { return 2 * a; }
template <typename T> T half(T a) { return a / 2; }
template <> int half<int>(int a) { return a >> 1; }
torch::Tensor f(torch::Tensor x) { return x; }
torch::Tensor f(torch::Tensor x, int n) { return x; }
__global__ void relu(float* y, int n) { CUDA_KERNEL_LOOP(i, n) { y[i] = max(y[i], 0.f); } }
__global__ void twice(float* y, int n) { CUDA_KERNEL_LOOP(i, n) { y[i] *= 2; } }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("f", &half<int>); }
"""
ext = load_inline(name="e", cpp_sources="", cuda_sources=src)
''',
    detects=("text", "build"),
    languages=("cuda",),
    guards="Loop macros inside functions, which look like definitions, overloads, templates, static and inline functions, anonymous namespaces and code under "
    "preprocessor conditions are legal; a PYBIND11_MODULE without functions= is, too.",
    fix="Leaves out `functions=` or the module block; turns the body in cpp_sources into a prototype; deletes a second copy.",
    check=check,
    explained_by=("BLD005",),
)
