"""BLD002: a function is exported, and cpp_sources does not declare it."""

import ast
import difflib
from collections.abc import Iterator

from grader.records import Context, Edit, Finding, Fix
from grader.rules.rule import Rule
from grader.source import Extension, Function, Source
from grader.source.analysis.diagnostics import confirming
from grader.source.code_edits import add_declarations, fix, prototype, quoted, replace
from grader.source.cuda_code import around, cuda_code, text

KINDS = ("undefined-identifier", "no-member")
INTRODUCE = ("using_declaration", "alias_declaration", "preproc_def", "preproc_function_def", "ERROR")  # fmt: skip
SYSTEM = ("torch/", "ATen/", "c10/", "cuda", "pybind11/", "math.", "std", "string.", "assert.")


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look up each exported name among the declarations of cpp_sources."""
    for extension in source.extensions:
        if extension.call != "load_inline" or not extension.complete or not extension.functions:
            continue
        if "cpp_sources" not in extension.keywords or any(unit.kernels for unit in extension.cpp):
            continue  # that is BLD017's, or BLD005's
        if all(unit.resolved for unit in extension.cpp) and not _includes_own(extension):
            known = _known(extension)
            missing = [name for name in extension.functions if name not in known]
            if missing:
                yield _finding(source, extension, missing, context)


def _known(extension: Extension) -> set[str]:
    """Return the names that main.cpp knows, functions inside named namespaces left out."""
    words = {
        name
        for unit in extension.cpp
        for kind in INTRODUCE
        for node in cuda_code(unit).of(kind)
        for name in text(node).replace("(", " ").replace(";", " ").replace("::", " ").split()
    }
    return words | {f.name for f in extension.declared if not _in_namespace(f)}


def _in_namespace(function: Function) -> bool:
    spaces = (node for node in around(function.node) if node.type == "namespace_definition")
    return any(node.child_by_field_name("name") is not None for node in spaces)


def _includes_own(extension: Extension) -> bool:
    """Whether cpp_sources includes a header that is none of torch's or the system's."""
    headers = (header for unit in extension.cpp for header in unit.includes)
    return any(h.endswith((".h", ".hpp", ".cuh")) and not h.startswith(SYSTEM) for h in headers)


def _finding(source: Source, extension: Extension, missing: list[str], context: Context) -> Finding:
    defined = extension.defined
    absent = [name for name in missing if name not in defined]
    wrong = [name for name in missing if name in absent or defined[name].runs != "host"]
    found = [defined[name] for name in missing if name in defined and _plain(defined[name])]
    names, them = ", ".join(missing), "them" if len(missing) > 1 else "it"
    message = (
        f"functions= exports {names}, but cpp_sources does not declare {them}: main.cpp, where load_inline binds "
        f"{them} to Python, does not compile"
    )
    if absent:
        message += f" ({', '.join(absent)} {'is' if len(absent) == 1 else 'are'} defined nowhere)"
    edits = [add_declarations(source, extension, [prototype(function) for function in found])]
    whole = len(found) == len(missing) and not wrong
    # A name that is defined nowhere is wrong where it is listed.
    keyword = "functions" if absent == missing else "cpp_sources"
    return RULE.finding(
        source.place(extension.keywords.get(keyword, extension.node)),
        message,
        evidence=confirming(context, KINDS, missing),
        fixes=fix(f"declare {names} in cpp_sources", edits, certain=True)
        if whole
        else _as_declared(source, extension, wrong),
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
        if isinstance(item, ast.Constant) and item.value in wrong:
            near = difflib.get_close_matches(str(item.value), free, n=1, cutoff=0.5)
            edits.append(replace(source, item, quoted(near[0])) if near else None)
            words += near
    return fix(f"export {', '.join(words)}", edits, certain=True)


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
    summary="The Python binding file does not know the exported C++ function, so the build stops "
    'with "was not declared in this scope".',
    why="load_inline writes the bindings of `functions=` into main.cpp, next to cpp_sources. That "
    "file never sees cuda_sources, so each exported function needs its prototype in cpp_sources.",
    bad=_BAD,
    good=_BAD.replace(
        'cpp_sources=""', 'cpp_sources="torch::Tensor row_sum(torch::Tensor, double);"'
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
