"""BLD002: cpp_sources lacks the prototype of an exported function, or has one that differs from its definition."""

import ast
import difflib
from collections.abc import Iterator

from grader.rules import Context, Edit, Evidence, Finding, Fix, Source, Unit, fix, rule_of
from grader.source import Extension, Function
from grader.source.analysis.diagnostics import confirming_errors
from grader.source.analysis.signatures import signature
from grader.source.code_edits import (
    add_declarations,
    head,
    prototype,
    quote_text,
    replace,
    replace_node,
)

KINDS = ("undefined-identifier", "no-member")


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Report the exported names missing in main.cpp, and the symbols missing to the loader."""
    for extension in source.extensions:
        exported = extension.functions or () if extension.call == "load_inline" else ()
        missing = [name for name in exported if _unknown_to_main(context, name)]
        if missing:
            yield _missing(source, extension, missing, context)
        for unit in extension.cpp if extension.readable else ():
            for declared in unit.declarations:
                evidence = _undefined_symbols(context, declared.name)
                if declared.name in exported and evidence:
                    yield _other_function(extension, unit, declared, evidence)


def _unknown_to_main(context: Context, name: str) -> tuple[Evidence, ...]:
    """Return the errors on a name in code written by load_inline, which has no line in the submission."""
    said = confirming_errors(context, KINDS, (name,))
    return tuple(item for item in said if item.place is None)


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
    """Replace kernels and undefined names in the list by declared functions of similar spelling."""
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


def _other_function(
    extension: Extension, unit: Unit, declared: Function, evidence: tuple[Evidence, ...]
) -> Finding:
    """Report a prototype of another function than is defined."""
    name, defined = declared.name, extension.defined.get(declared.name)
    edits = [replace_node(unit, declared.node, f"{head(defined)};")] if defined else []
    return RULE.finding(
        unit.place(declared.node),
        f"cpp_sources declares {name}({', '.join(signature(declared))}) but the function defined is "
        f"{name}({', '.join(signature(defined))}): the library loads with an undefined symbol"
        if defined
        else f"{name} is declared and exported, but no source defines it: the library loads with an undefined symbol",
        evidence=evidence,
        fixes=fix("declare it as it is defined", edits, certain=True),
    )


def _undefined_symbols(context: Context, name: str) -> tuple[Evidence, ...]:
    """Return the loader's errors on a symbol; `f` is `_Z1fN2at6TensorE` there."""
    missed = confirming_errors(context, ("undefined-symbol",))
    return tuple(
        one for one in missed if f"{len(name)}{name}" in one.said or f"{name}(" in one.said
    )


RULE = rule_of(__file__, check)
