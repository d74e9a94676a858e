"""BLD002: cpp_sources lacks the prototype of an exported function, or has another one than is defined."""

import ast
import difflib
from collections.abc import Iterator

from grader.records import Context, Edit, Evidence, Finding, Fix
from grader.rules.page_file import read_page
from grader.rules.rule import Rule
from grader.source import Extension, Function, Source, Unit
from grader.source.analysis.diagnostics import confirming_errors
from grader.source.analysis.signatures import are_types_known, signature
from grader.source.code_edits import (
    add_declarations,
    fix,
    head,
    prototype,
    quote_text,
    replace,
    replace_node,
)
from grader.source.cuda_code import around, cuda_code, text

KINDS = ("undefined-identifier", "no-member")
INTRODUCE = ("using_declaration", "alias_declaration", "preproc_def", "preproc_function_def", "ERROR")  # fmt: skip
SYSTEM = ("torch/", "ATen/", "c10/", "cuda", "pybind11/", "math.", "std", "string.", "assert.")


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Compare the exported names with what cpp_sources declares, and that with the definitions."""
    for extension in source.extensions:
        if extension.call == "load_inline" and extension.functions:
            missing = _undeclared(extension, extension.functions)
            if missing:
                yield _missing(source, extension, missing, context)
            for unit, declared in _comparable(extension, extension.functions):
                yield from _different(extension, unit, declared, context)


# prototypes that are missing


def _undeclared(extension: Extension, exported: tuple[str, ...]) -> list[str]:
    """Return the exported names that cpp_sources doesn't declare; none where it may do so unseen."""
    elsewhere = "cpp_sources" not in extension.keywords or any(unit.kernels for unit in extension.cpp)  # fmt: skip
    unread = not extension.complete or not all(unit.resolved for unit in extension.cpp)
    if elsewhere or unread or _includes_own(extension):  # BLD017 and BLD005 tell the first
        return []
    known = _known(extension)
    return [name for name in exported if name not in known]


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


def _missing(source: Source, extension: Extension, missing: list[str], context: Context) -> Finding:
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
        evidence=confirming_errors(context, KINDS, missing),
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
            edits.append(replace(source, item, quote_text(near[0])) if near else None)
            words += near
    return fix(f"export {', '.join(words)}", edits, certain=True)


def _plain(function: Function) -> bool:
    return not function.template_parameters and not {"static", "inline"} & set(function.qualifiers)


# prototypes of other functions than are defined


def _comparable(extension: Extension, exported: tuple[str, ...]) -> Iterator[tuple[Unit, Function]]:
    """Yield the prototypes of exported functions, unless a parse error could hide the definition."""
    own = {f.name for unit in extension.units for f in unit.functions}
    hidden = not set(exported) <= own and any(unit.tree.has_error for unit in extension.cuda)
    for unit in extension.cpp if extension.readable and not hidden else ():
        for declared in unit.declarations:
            if declared.name in exported and are_types_known(declared):
                yield unit, declared


def _different(
    extension: Extension, unit: Unit, declared: Function, context: Context
) -> Iterator[Finding]:
    name = declared.name
    defined = [f for each in extension.units for f in each.functions if f.name == name]
    macros = (macro for each in extension.cuda for macro in each.macros.values())
    unsure = any(f.template_parameters or not are_types_known(f) for f in defined)
    made = not defined and any(name in macro.value for macro in macros)
    if unsure or made or any(signature(f) == signature(declared) for f in defined):
        return
    there = defined[-1] if defined else None
    edits = [replace_node(unit, declared.node, f"{head(there)};")] if there else []
    yield RULE.finding(
        unit.place(declared.node),
        f"cpp_sources declares {name}({', '.join(signature(declared))}) but the function defined is "
        f"{name}({', '.join(signature(there))}): the library loads with an undefined symbol"
        if there
        else f"{name} is declared and exported, but no source defines it: the library loads with an undefined symbol",
        evidence=_undefined(context, name),
        fixes=fix("declare it as it is defined", edits, certain=True),
    )


def _undefined(context: Context, name: str) -> tuple[Evidence, ...]:
    """Return the loader's complaints about a symbol; `f` is `_Z1fN2at6TensorE` there."""
    missed = confirming_errors(context, ("undefined-symbol",))
    return tuple(
        one for one in missed if f"{len(name)}{name}" in one.said or f"{name}(" in one.said
    )


RULE = Rule(
    **read_page(__file__),
    formerly=("BLD006",),
    detects=("text", "build"),
    languages=("cuda",),
    check=check,
    explained_by=("BLD005",),
)
