"""BLD003: Python calls a function that the extension does not export."""

import ast
from collections.abc import Iterator, Sequence

from grader.records import Context, Edit, Finding, Fix
from grader.rules.page_file import read_page
from grader.rules.rule import Rule
from grader.source import Extension, Source
from grader.source.analysis.diagnostics import confirming_errors
from grader.source.analysis.exports import to_export
from grader.source.code_edits import add_declarations, fix, prototype, replace
from grader.source.cuda_code import cuda_code
from grader.source.python_code import PythonCode
from grader.source.scopes import dotted_name

BINDERS = {"PYBIND11_MODULE", "TORCH_LIBRARY", "TORCH_LIBRARY_FRAGMENT", "PyInit"}


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Compare what Python takes from an extension with what the extension exports."""
    code = source.module
    if code is None:
        return
    by_variable: dict[str, list[Extension]] = {}
    for extension in source.extensions:
        if extension.variable is not None:
            by_variable.setdefault(extension.variable, []).append(extension)
        yield from _nothing_bound(source, extension, context)
    for variable, extensions in by_variable.items():
        exported = _exported_names(extensions)
        aliases = _aliases(code, variable) if exported else set()
        if exported and aliases:
            yield from _report_missing_attributes(
                source, code, aliases, extensions, exported, context
            )
            yield from _report_called_extension(source, code, aliases, exported, context)


def _nothing_bound(source: Source, extension: Extension, context: Context) -> Iterator[Finding]:
    given = extension.keywords
    module = given.get("is_python_module")
    plain = isinstance(module, ast.Constant) and module.value is False
    texts = extension.units if extension.call == "load_inline" and extension.readable else ()
    bound = "functions" in given or "cpp_sources" not in given or plain
    if not texts or bound or len(extension.node.args) > 4 or any(unit.bindings for unit in texts):
        return
    if any(name in cuda_code(unit).names for unit in texts for name in BINDERS):
        return
    kinds = ("Tensor", "void")
    names = [f.name for f in extension.declared if any(kind in f.return_type for kind in kinds)]
    own = [] if names else to_export(source, extension, extension.cuda)
    names = names or [function.name for function in own]
    at = source.span(extension.node)[1] - 1
    glue = "" if source.code[:at].rstrip().endswith((",", "(")) else ", "
    edits: list[Edit | None] = [Edit(start=at, end=at, text=f"{glue}functions={names!r}")]
    if own:
        edits.append(add_declarations(source, extension, [prototype(one) for one in own]))
    yield RULE.finding(
        source.place(extension.node),
        "load_inline gets no functions= and no source has a PYBIND11_MODULE: the library exports nothing, and importing it fails",
        evidence=confirming_errors(context, ("no-module-function",)),
        fixes=fix("list the functions to export", edits, certain=True) if names else (),
    )


def _exported_names(extensions: Sequence[Extension]) -> set[str] | None:
    """Return the exported names; None where they can't be told."""
    names: set[str] = set()
    for extension in extensions:
        unread = "functions" in extension.keywords and extension.functions is None
        if extension.call != "load_inline" or not extension.readable or unread:
            return None
        names.update(extension.functions or ())
        names.update(binding.name for unit in extension.units for binding in unit.bindings)
    return names


def _aliases(code: PythonCode, variable: str) -> set[str]:
    """Return how the program spells the extension: its variable, and what is only ever bound to it."""
    assigned: dict[str, set[str]] = {}
    for node in code.of(ast.Assign):
        for target in filter(None, map(dotted_name, node.targets)):
            assigned.setdefault(target, set()).add(dotted_name(node.value))
    if assigned.get(variable, set()) - {"", variable}:
        return set()
    return {variable, *(name for name, values in assigned.items() if values == {variable})}


def _report_missing_attributes(
    source: Source,
    code: PythonCode,
    aliases: set[str],
    extensions: Sequence[Extension],
    exported: set[str],
    context: Context,
) -> Iterator[Finding]:
    """Report attributes of the extension that it does not have."""
    seen = {*exported, *_asked_for(code)}
    for node in code.of(ast.Attribute):
        name, loaded = node.attr, isinstance(node.ctx, ast.Load)
        if not loaded or dotted_name(node.value) not in aliases or name in seen or name[:2] == "__":
            continue
        if not any(isinstance(outer, ast.Try) for outer in code.ancestors(node)):
            seen.add(name)
            yield RULE.finding(
                source.place(node),
                f"the extension exports {', '.join(sorted(exported))}, but Python calls {dotted_name(node)}: that ends in an AttributeError",
                evidence=confirming_errors(context, ("python-attribute",), (name,), run=True),
                fixes=_fixes(source, node, extensions[-1], exported),
            )


def _asked_for(code: PythonCode) -> Iterator[str]:
    """Yield the names that the program asks for first, `hasattr(ext, "f")`."""
    for called, call in code.calls:
        if called == "hasattr" and isinstance(call.args[-1], ast.Constant):
            yield str(call.args[-1].value)


def _fixes(
    source: Source, node: ast.Attribute, extension: Extension, exported: set[str]
) -> tuple[Fix, ...]:
    defined, listed = extension.defined, extension.keywords.get("functions")
    if node.attr in defined and isinstance(listed, ast.List) and listed.elts:
        at = source.span(listed.elts[-1])[1]
        edits: list[Edit | None] = [Edit(start=at, end=at, text=f', "{node.attr}"')]
        if node.attr not in {function.name for function in extension.declared}:
            edits.append(add_declarations(source, extension, [prototype(defined[node.attr])]))
        return fix(f"export {node.attr}", edits, certain=True)
    only, owner = min(exported), source.text(node.value)
    edit = replace(source, node, f"{owner}.{only}")
    return fix(f"call it by its exported name {only}", [edit]) if len(exported) == 1 else ()


def _report_called_extension(
    source: Source, code: PythonCode, aliases: set[str], exported: set[str], context: Context
) -> Iterator[Finding]:
    """Report an extension that is called as if it were its function."""
    for node in code.of(ast.Call):
        called = dotted_name(node.func)
        if called in aliases and called not in code.functions:
            edit = replace(source, node.func, f"{called}.{min(exported)}")
            fixes = fix(f"call {called}.{min(exported)}", [edit]) if len(exported) == 1 else ()
            yield RULE.finding(
                source.place(node.func),
                f"`{called}` is the extension, a module, and can't be called; its functions are {', '.join(sorted(exported))}",
                evidence=confirming_errors(context, ("python-call",), ("module",), run=True),
                fixes=fixes,
            )
            return


RULE = Rule(
    **read_page(__file__),
    detects=("text", "build"),
    languages=("cuda",),
    check=check,
    predicts="raises",
    certain_from_text=True,
)
