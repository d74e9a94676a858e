"""BLD003: Python calls a function that the extension does not export."""

import ast
from collections.abc import Iterator, Sequence

from grader.rules import Context, Edit, Evidence, Finding, Fix, Source, fix, rule_of
from grader.source import Extension
from grader.source.analysis.diagnostics import confirming_errors, explain
from grader.source.analysis.signatures import to_export
from grader.source.code_edits import add_declarations, prototype, replace
from grader.source.scopes import dotted_name


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Report functions of an extension that Python can't find or call."""
    for extension in source.extensions:
        yield from _nothing_bound(source, extension, context)
    for item in confirming_errors(context, ("python-attribute", "python-call"), run=True):
        meaning = explain(item.said)
        if source.extensions and meaning is not None and "module" in item.said:
            called = meaning.kind == "python-call"
            yield from (
                _called_extensions(source, item)
                if called
                else _missing_attributes(source, item, meaning.names)
            )


def _nothing_bound(source: Source, extension: Extension, context: Context) -> Iterator[Finding]:
    evidence = confirming_errors(context, ("no-module-function",))
    if not evidence or extension.call != "load_inline" or "functions" in extension.keywords:
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
        evidence=evidence,
        fixes=fix("list the functions to export", edits, certain=True) if names else (),
    )


def _exported_names(extension: Extension) -> set[str]:
    bound = (binding.name for unit in extension.units for binding in unit.bindings)
    return {*(extension.functions or ()), *bound}


def _missing_attributes(source: Source, item: Evidence, names: Sequence[str]) -> Iterator[Finding]:
    """Report the missing attribute of an extension."""
    owner, missed = names
    named = [one for one in source.extensions if one.name and owner.startswith(one.name)]
    extension = (named or source.extensions)[-1]
    exported = _exported_names(extension)
    for node in source.walk(ast.Attribute):
        if (
            _is_at(node, item)
            and node.attr == missed
            and exported
            and _may_be_extension(source, node.value)
        ):
            yield RULE.finding(
                source.place(node),
                f"the extension exports {', '.join(sorted(exported))}, but Python calls {dotted_name(node)}: that ends in an AttributeError",
                evidence=[item],
                fixes=_fixes(source, node, extension, exported),
            )
            return


def _is_at(node: ast.expr, item: Evidence) -> bool:
    """Whether Python may have raised the error there, since a run's message doesn't have the line."""
    last = node.end_lineno or node.lineno
    return item.place is None or node.lineno <= item.place.line <= last


def _may_be_extension(source: Source, owner: ast.AST) -> bool:
    """Whether a name isn't a module that the program imports."""
    name = dotted_name(owner)
    return bool(name) and name.partition(".")[0] not in source.module.aliases


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


def _called_extensions(source: Source, item: Evidence) -> Iterator[Finding]:
    """Report an extension that is called as if it were its function."""
    exported = _exported_names(source.extensions[-1])
    for node in source.walk(ast.Call) if exported else ():
        called = dotted_name(node.func)
        if _is_at(node, item) and called and _may_be_extension(source, node.func):
            edit = replace(source, node.func, f"{called}.{min(exported)}")
            fixes = fix(f"call {called}.{min(exported)}", [edit]) if len(exported) == 1 else ()
            yield RULE.finding(
                source.place(node.func),
                f"`{called}` is the extension, a module, and can't be called; its functions are {', '.join(sorted(exported))}",
                evidence=[item],
                fixes=fixes,
            )
            return


RULE = rule_of(__file__, check, predicts="raises")
