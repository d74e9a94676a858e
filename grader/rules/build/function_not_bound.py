"""BLD003: Python calls a function that the extension does not export."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.records import Context, Edit, Finding, Fix
from grader.rules.rule import Rule
from grader.source import Extension, Source
from grader.source.analysis.diagnostics import confirming
from grader.source.analysis.exports import to_export
from grader.source.code_edits import add_declarations, fix, prototype, replace
from grader.source.cuda_code import cuda_code
from grader.source.python_code import PythonCode, python_code


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Compare what Python takes from an extension with what the extension exports."""
    code = python_code(source)
    if code is None:
        return
    by_variable: dict[str, list[Extension]] = {}
    for extension in source.extensions:
        if extension.variable is not None:
            by_variable.setdefault(extension.variable, []).append(extension)
        yield from _nothing_bound(source, extension, context)
    for variable, extensions in by_variable.items():
        exported = _exported(extensions)
        if exported:
            yield from _uses(source, code, variable, extensions, exported, context)
            yield from _calls(source, code, variable, exported, context)


def _nothing_bound(source: Source, extension: Extension, context: Context) -> Iterator[Finding]:
    if extension.call != "load_inline" or not extension.complete:
        return
    if "cpp_sources" not in extension.keywords:
        return  # the call itself fails first (BLD017)
    bound = "functions" in extension.keywords or any(unit.bindings for unit in extension.units)
    other = {"PYBIND11_MODULE", "TORCH_LIBRARY", "TORCH_LIBRARY_FRAGMENT", "PyInit"}
    if bound or _switched_off(extension) or len(extension.node.args) > 4:
        return
    if any(name in cuda_code(unit).names for unit in extension.units for name in other):
        return
    if not all(unit.resolved for unit in extension.units) or not extension.units:
        return
    evidence = confirming(context, ("no-module-function",))
    declared = [
        function.name
        for unit in extension.cpp
        for function in (*unit.functions, *unit.declarations)
        if "Tensor" in function.return_type or function.return_type == "void"
    ]
    at = source.span(extension.node)[1] - 1
    glue = "" if source.code[:at].rstrip().endswith((",", "(")) else ", "
    own = [] if declared else to_export(source, extension, extension.cuda)
    names = declared or [function.name for function in own]
    edits: list[Edit | None] = [Edit(start=at, end=at, text=f"{glue}functions={names!r}")]
    if own:
        edits.append(add_declarations(source, extension, [prototype(one) for one in own]))
    yield RULE.finding(
        source.place(extension.node),
        "load_inline gets no functions= and no source has a PYBIND11_MODULE: the library exports nothing, and importing it fails",
        evidence=evidence,
        fixes=fix("list the functions to export", edits, certain=True) if names else (),
    )


def _switched_off(extension: Extension) -> bool:
    value = extension.keywords.get("is_python_module")
    return isinstance(value, ast.Constant) and value.value is False


def _exported(extensions: list[Extension]) -> set[str] | None:
    """Return the exported names; None where they can't be told."""
    names: set[str] = set()
    for extension in extensions:
        if extension.call != "load_inline" or not extension.complete:
            return None
        if "functions" in extension.keywords and extension.functions is None:
            return None
        if not all(unit.resolved for unit in extension.units):
            return None
        names.update(extension.functions or ())
        names.update(binding.name for unit in extension.units for binding in unit.bindings)
    return names


def _uses(
    source: Source,
    code: PythonCode,
    variable: str,
    extensions: list[Extension],
    exported: set[str],
    context: Context,
) -> Iterator[Finding]:
    aliases = _aliases(code, variable)
    seen: set[str] = set()
    for node in code.of(ast.Attribute):
        name = node.attr
        if not isinstance(node.ctx, ast.Load) or _spelled(node.value) not in aliases:
            continue
        if name in exported or name.startswith("__") or name in seen:
            continue
        if _guarded(code, node, name):
            continue
        seen.add(name)
        evidence = confirming(context, ("python-attribute",), (name,), run=True)
        yield RULE.finding(
            source.place(node),
            f"the extension exports {', '.join(sorted(exported))}, but Python calls {_spelled(node)}: that ends in an AttributeError",
            evidence=evidence,
            fixes=_fixes(source, node, extensions, exported),
        )


def _aliases(code: PythonCode, variable: str) -> set[str]:
    """Return how the program spells the extension: its variable, and attributes bound to it."""
    names = {variable}
    assigned: dict[str, set[str]] = {}
    for node in code.of(ast.Assign):
        for target in node.targets:
            if spelled := _spelled(target):
                assigned.setdefault(spelled, set()).add(_spelled(node.value))
    for spelled, values in assigned.items():
        if values == {variable}:
            names.add(spelled)
    if assigned.get(variable, set()) - {"", variable}:
        return set()
    return names


def _spelled(node: ast.AST) -> str:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id=owner), attr=name):
            return f"{owner}.{name}"
        case ast.Attribute(value=value, attr=name):
            inner = _spelled(value)
            return f"{inner}.{name}" if inner else ""
        case _:
            return ""


def _guarded(code: PythonCode, node: ast.AST, name: str) -> bool:
    """Whether the program asks first (`hasattr`, or `except AttributeError`)."""
    asked = any(
        called == "hasattr"
        and len(call.args) == 2
        and isinstance(call.args[1], ast.Constant)
        and call.args[1].value == name
        for called, call in code.calls
    )
    return asked or any(isinstance(outer, ast.Try) for outer in code.ancestors(node))


def _fixes(
    source: Source, node: ast.Attribute, extensions: list[Extension], exported: set[str]
) -> tuple[Fix, ...]:
    extension = extensions[-1]
    defined = {f.name: f for unit in extension.cuda for f in unit.functions}
    declared = {f.name for unit in extension.cpp for f in (*unit.functions, *unit.declarations)}
    listed = extension.keywords.get("functions")
    if node.attr in defined and isinstance(listed, ast.List) and listed.elts:
        at = source.span(listed.elts[-1])[1]
        edits: list[Edit | None] = [Edit(start=at, end=at, text=f', "{node.attr}"')]
        if node.attr not in declared:
            edits.append(add_declarations(source, extension, [prototype(defined[node.attr])]))
        return fix(f"export {node.attr}", edits, certain=True)
    if len(exported) == 1:
        only = next(iter(exported))
        owner = source.text(node.value)
        return fix(
            f"call it by its exported name {only}", [replace(source, node, f"{owner}.{only}")]
        )
    return ()


def _calls(
    source: Source, code: PythonCode, variable: str, exported: set[str], context: Context
) -> Iterator[Finding]:
    """Report an extension that is called as if it were its function."""
    aliases = _aliases(code, variable)
    bound = sum(_binds(node, variable) for node in code.of(ast.Assign))
    if bound != 1 or variable in code.functions:
        return
    for node in code.of(ast.Call):
        called = _spelled(node.func)
        if called not in aliases:
            continue
        name = min(exported)
        evidence = confirming(context, ("python-call",), ("module",), run=True)
        yield RULE.finding(
            source.place(node.func),
            f"`{called}` is the extension, a module, and can't be called; its functions are {', '.join(sorted(exported))}",
            evidence=evidence,
            fixes=fix(f"call {called}.{name}", [replace(source, node.func, f"{called}.{name}")])
            if len(exported) == 1
            else (),
        )
        return


def _binds(node: ast.Assign, variable: str) -> bool:
    return any(_spelled(target) == variable for target in node.targets)


RULE = Rule(
    code="BLD003",
    name="function-not-bound",
    severity="error",
    summary="Python calls a function that the extension does not export, so the call ends in an AttributeError.",
    why="Only what is listed in `functions=`, or bound in a PYBIND11_MODULE of its own, can be called from Python.",
    bad="""
import torch
from torch.utils.cpp_extension import load_inline
decl = "torch::Tensor fwd(torch::Tensor x);"
src = "torch::Tensor fwd(torch::Tensor x) { return x; }"
ext = load_inline(name="e", cpp_sources=decl, cuda_sources=src, functions=["fwd"])
class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.op = ext
    def forward(self, x):
        return self.op.forward(x)
""",
    good='''
import torch
from torch.utils.cpp_extension import load_inline
src = """
#include <torch/extension.h>
torch::Tensor f(torch::Tensor x) { return x; }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &f); }
"""
ext = load_inline(name="e", cpp_sources="", cuda_sources=src)
class ModelNew(torch.nn.Module):
    def forward(self, x):
        return ext.forward(x)
''',
    detects=("text", "build"),
    languages=("cuda",),
    guards="Attributes of the model that hold the extension are followed. Silent where the "
    "exported names can't be read, where the program asks with hasattr, and inside try.",
    fix="Adds the name to functions= (and its prototype to cpp_sources) where the function exists; lists what Python calls where nothing "
    "is exported; otherwise calls the only exported function.",
    check=check,
    predicts="raises",
    certain_from_text=True,
)
