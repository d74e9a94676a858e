"""BLD002: a function is exported, and cpp_sources does not declare it."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator

from grader.records import Context, Edit, Finding, Fix
from grader.rules.rule import Rule
from grader.source import Extension, Function, Source
from grader.source.analysis.diagnostics import confirming
from grader.source.code_edits import add_declarations, fix, prototype, quoted, replace
from grader.source.cuda_code import cuda_code, text

KINDS = ("undefined-identifier", "no-member")


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look up each exported name among the declarations of cpp_sources."""
    for extension in source.extensions:
        if extension.call != "load_inline" or not extension.complete or not extension.functions:
            continue
        if "cpp_sources" not in extension.keywords:
            continue  # that is BLD017's
        if not all(unit.resolved for unit in extension.cpp) or _includes_own(extension):
            continue
        known = _declared(extension)
        missing = [name for name in extension.functions if name not in known]
        if missing and not _cuda_in_cpp(extension):
            yield _finding(source, extension, missing, context)


def _finding(source: Source, extension: Extension, missing: list[str], context: Context) -> Finding:
    defined = {function.name: function for unit in extension.cuda for function in unit.functions}
    found = [defined[name] for name in missing if name in defined and _plain(defined[name])]
    several = len(missing) > 1
    names = ", ".join(missing)
    absent = [name for name in missing if name not in defined]
    kernels = [name for name in missing if name in defined and defined[name].runs != "host"]
    message = (
        f"functions= exports {names}, but cpp_sources does not declare {'them' if several else 'it'}: main.cpp, where load_inline binds "
        f"{'them' if several else 'it'} to Python, does not compile"
    )
    if absent:
        message += f" ({', '.join(absent)} {'is' if len(absent) == 1 else 'are'} defined nowhere)"
    evidence = confirming(context, KINDS, missing)
    edits = [add_declarations(source, extension, [prototype(function) for function in found])]
    # A name that is defined nowhere is wrong where it is listed.
    keyword = "functions" if absent == missing else "cpp_sources"
    return RULE.finding(
        source.place(extension.keywords.get(keyword, extension.node)),
        message,
        evidence=evidence,
        fixes=fix(f"declare {names} in cpp_sources", edits, certain=True)
        if len(found) == len(missing) and not kernels
        else _as_declared(source, extension, [*absent, *kernels]),
        names=missing,
    )


def _as_declared(source: Source, extension: Extension, wrong: list[str]) -> tuple[Fix, ...]:
    """List the declared functions that are spelled alike in the place of kernels and of what nothing defines."""
    listed = extension.keywords.get("functions")
    known = [function.name for unit in extension.cpp for function in unit.declarations]
    free = [name for name in known if name not in (extension.functions or ())]
    edits: list[Edit | None] = []
    words: list[str] = []
    for item in listed.elts if isinstance(listed, ast.List | ast.Tuple) else ():
        if not isinstance(item, ast.Constant) or item.value not in wrong:
            continue
        near = difflib.get_close_matches(str(item.value), free, n=1, cutoff=0.5)
        if not near:
            return ()
        words += near
        edits.append(replace(source, item, quoted(near[0])))
    return fix(f"export {', '.join(words)}", edits, certain=True) if words else ()


def _declared(extension: Extension) -> set[str]:
    """Return the names that main.cpp knows, functions inside named namespaces left out."""
    return {
        function.name
        for unit in extension.cpp
        for function in (*unit.functions, *unit.declarations)
        if not _in_namespace(function)
    } | {
        name
        for unit in extension.cpp
        for node in cuda_code(unit).of(
            "using_declaration", "alias_declaration", "preproc_def", "preproc_function_def", "ERROR"
        )
        for name in text(node).replace("(", " ").replace(";", " ").replace("::", " ").split()
    }


def _in_namespace(function: Function) -> bool:
    node = function.node.parent
    while node is not None:
        if node.type == "namespace_definition" and node.child_by_field_name("name") is not None:
            return True
        node = node.parent
    return False


def _includes_own(extension: Extension) -> bool:
    """Whether cpp_sources includes a header that is none of torch's or the system's."""
    local = ("torch/", "ATen/", "c10/", "cuda", "pybind11/")
    return any(
        "." in header
        and not header.startswith(local)
        and header.endswith((".h", ".hpp", ".cuh"))
        and header not in {"math.h", "stdio.h", "stdlib.h", "stdint.h", "string.h", "assert.h"}
        for unit in extension.cpp
        for header in unit.includes
    )


def _cuda_in_cpp(extension: Extension) -> bool:
    """Whether the declarations drown in CUDA code that should not be there (BLD005)."""
    return any(unit.kernels for unit in extension.cpp)


def _plain(function: Function) -> bool:
    return not function.template_parameters and not {"static", "inline"} & set(function.qualifiers)


_BAD = '''
import torch
from torch.utils.cpp_extension import load_inline
src = """
#include <torch/extension.h>
torch::Tensor row_sum(torch::Tensor x, double scale = 1.0) { return x; }
"""
ext = load_inline(name="sum_ext", cpp_sources="", cuda_sources=src, functions=["row_sum"])
'''
RULE = Rule(
    code="BLD002",
    name="function-not-declared-in-cpp-sources",
    severity="error",
    summary="The Python binding file does not know the exported C++ function, so the build stops "
    'with "was not declared in this scope".',
    why="load_inline writes the bindings of `functions=` into main.cpp, next to cpp_sources. That "
    "file never sees cuda_sources, so each exported function needs its prototype in cpp_sources.",
    bad=_BAD,
    good=_BAD.replace(
        '""\n#include <torch/extension.h>\ntorch::Tensor row_sum(torch::Tensor x, double scale = 1.0) { return x; }\n"""\next = load_inline(name="sum_ext", cpp_sources="",',
        'torch::Tensor row_sum(torch::Tensor x) { return x; }"\next = load_inline(name="sum_ext", cpp_sources="torch::Tensor row_sum(torch::Tensor x);",\n                 ',
    ),
    detects=("text", "build"),
    languages=("cuda",),
    guards="Silent where cpp_sources can't be read in full or includes a header of its own, and "
    "where CUDA code in cpp_sources is the cause.",
    fix="Lists the declared function that is spelled alike where a name is a kernel's or nobody's; else copies the prototypes, default arguments included, from the definitions into "
    "cpp_sources.",
    check=check,
    explained_by=("BLD005",),
)
