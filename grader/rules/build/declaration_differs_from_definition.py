"""BLD006: the prototype that Python is bound to is not the function that exists."""

from __future__ import annotations

from collections.abc import Iterator

from grader.records import Context, Evidence, Finding, Fix
from grader.rules.rule import Rule
from grader.source import Extension, Function, Source, Unit
from grader.source.analysis.diagnostics import errors
from grader.source.analysis.signatures import known, signature
from grader.source.code_edits import fix, head, replace_node


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Compare the prototypes in cpp_sources with the definitions in all sources."""
    for extension in source.extensions:
        if extension.call != "load_inline" or not extension.complete or not extension.functions:
            continue
        if not all(unit.resolved for unit in extension.units) or _broken(extension):
            continue
        for unit in extension.cpp:
            for declared in unit.declarations:
                if declared.name in extension.functions:
                    yield from _compare(extension, unit, declared, context)


def _compare(
    extension: Extension, unit: Unit, declared: Function, context: Context
) -> Iterator[Finding]:
    defined = [
        function
        for each in extension.units
        for function in each.functions
        if function.name == declared.name
    ]
    if not known(declared) or any(_opaque(function) for function in defined):
        return
    if any(signature(function) == signature(declared) for function in defined):
        return
    if not defined and any(
        declared.name in macro for each in extension.cuda for macro in each.macros.values()
    ):
        return
    evidence = _undefined(context, declared.name)
    if defined:
        message, fixes = _differs(unit, declared, defined[-1])
    else:
        message = f"{declared.name} is declared and exported, but no source defines it: the library loads with an undefined symbol"
        fixes = ()
    yield RULE.finding(
        unit.place(declared.node),
        message,
        evidence=evidence,
        fixes=fixes,
    )


def _differs(unit: Unit, declared: Function, there: Function) -> tuple[str, tuple[Fix, ...]]:
    """Return what to say of a function that is defined in another way, and its fix."""
    message = (
        f"cpp_sources declares {declared.name}({', '.join(signature(declared))}) but the function defined is "
        f"{declared.name}({', '.join(signature(there))}): the library loads with an undefined symbol"
    )
    edits = [replace_node(unit, declared.node, f"{head(there)};")]
    return message, fix("declare it as it is defined", edits, certain=True)


def _opaque(function: Function) -> bool:
    return bool(function.template_parameters) or not known(function)


def _broken(extension: Extension) -> bool:
    """Whether a parse error could hide the definition."""
    return any(unit.tree.has_error for unit in extension.cuda) and any(
        name not in {f.name for unit in extension.units for f in unit.functions}
        for name in extension.functions or ()
    )


def _undefined(context: Context, name: str) -> tuple[Evidence, ...]:
    """Return the loader's complaints about a symbol; `f` is `_Z1fN2at6TensorE` there."""
    mangled = f"{len(name)}{name}"
    return tuple(
        item
        for item, meaning in errors(context)
        if meaning is not None
        and meaning.kind == "undefined-symbol"
        and (mangled in item.said or f"{name}(" in item.said)
    )


RULE = Rule(
    code="BLD006",
    name="declaration-differs-from-definition",
    severity="error",
    summary="The prototype given to Python and the real function differ, so loading fails with "
    '"undefined symbol".',
    why="C++ writes the parameter types into a function's symbol. main.cpp refers to the symbol of "
    "the prototype; when the definition in cuda_sources has other types, nothing provides it.",
    bad="""
import torch
from torch.utils.cpp_extension import load_inline
ext = load_inline(name="e", functions=["scale"],
    cpp_sources="torch::Tensor scale(torch::Tensor x, float a);",
    cuda_sources="torch::Tensor scale(torch::Tensor x, double a) { return x * a; }")
""",
    good='''
import torch
from torch.utils.cpp_extension import load_inline
ext = load_inline(name="e", functions=["scale", "shift"],
    cpp_sources="""
at::Tensor scale(at::Tensor x, int64_t n, std::optional<at::Tensor> b, const float a = 1.0f);
void shift(const torch::Tensor& x, at::IntArrayRef d);
""",
    cuda_sources="""
torch::Tensor scale(const torch::Tensor x, const long n, c10::optional<torch::Tensor> b, float a) {
    return x;
}
void shift(torch::Tensor const& x, c10::IntArrayRef d) {}
""")
''',
    detects=("text", "build"),
    languages=("cuda",),
    guards="Spellings of one type count as equal (at::Tensor and torch::Tensor, int64_t and long, const by value); the return type is "
    "not part of the symbol. Silent where the parse of cuda_sources has errors that could hide the definition.",
    fix="Replaces the prototype by the head of the definition, or writes the missing function where a "
    "kernel of that name goes over the elements.",
    check=check,
    explained_by=("BLD002",),
)
