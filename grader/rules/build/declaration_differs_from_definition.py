"""BLD006: the prototype that Python is bound to is not the function that exists."""

from collections.abc import Iterator

from grader.records import Context, Evidence, Finding
from grader.rules.rule import Rule
from grader.source import Extension, Function, Source, Unit
from grader.source.analysis.diagnostics import errors
from grader.source.analysis.signatures import known, signature
from grader.source.code_edits import fix, head, replace_node


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Compare the prototypes in cpp_sources with the definitions in all sources."""
    for extension in source.extensions:
        if extension.call == "load_inline" and extension.readable and extension.functions:
            for unit in extension.cpp if not _broken(extension) else ():
                for declared in unit.declarations:
                    if declared.name in extension.functions and known(declared):
                        yield from _compare(extension, unit, declared, context)


def _compare(
    extension: Extension, unit: Unit, declared: Function, context: Context
) -> Iterator[Finding]:
    name = declared.name
    defined = [f for each in extension.units for f in each.functions if f.name == name]
    if any(f.template_parameters or not known(f) for f in defined):
        return
    macros = (value for each in extension.cuda for value in each.macros.values())
    if not defined and any(name in value for value in macros):
        return
    if any(signature(f) == signature(declared) for f in defined):
        return
    there = defined[-1] if defined else None
    message = (
        f"cpp_sources declares {name}({', '.join(signature(declared))}) but the function defined is "
        f"{name}({', '.join(signature(there))}): the library loads with an undefined symbol"
        if there
        else f"{name} is declared and exported, but no source defines it: the library loads with an undefined symbol"
    )
    edits = [replace_node(unit, declared.node, f"{head(there)};")] if there else []
    yield RULE.finding(
        unit.place(declared.node),
        message,
        evidence=_undefined(context, name),
        fixes=fix("declare it as it is defined", edits, certain=True),
    )


def _broken(extension: Extension) -> bool:
    """Whether a parse error could hide the definition."""
    own = {f.name for unit in extension.units for f in unit.functions}
    hidden = not set(extension.functions or ()) <= own
    return hidden and any(unit.tree.has_error for unit in extension.cuda)


def _undefined(context: Context, name: str) -> tuple[Evidence, ...]:
    """Return the loader's complaints about a symbol; `f` is `_Z1fN2at6TensorE` there."""
    return tuple(
        item
        for item, meaning in errors(context)
        if meaning is not None and meaning.kind == "undefined-symbol"
        if f"{len(name)}{name}" in item.said or f"{name}(" in item.said
    )


_BAD = """
import torch
from torch.utils.cpp_extension import load_inline
ext = load_inline(name="e", functions=["scale"],
    cpp_sources="torch::Tensor scale(torch::Tensor x, float a);",
    cuda_sources="torch::Tensor scale(torch::Tensor x, double a) { return x * a; }")
"""
RULE = Rule(
    code="BLD006",
    name="declaration-differs-from-definition",
    summary="The prototype given to Python and the real function differ, so loading fails with "
    '"undefined symbol".',
    why="C++ writes the parameter types into a function's symbol. main.cpp refers to the symbol of "
    "the prototype; when the definition in cuda_sources has other types, nothing provides it.",
    bad=_BAD,
    good=_BAD.replace("x, float a", "x, double a"),
    detects=("text", "build"),
    languages=("cuda",),
    guards="Spellings of one type count as equal (at::Tensor and torch::Tensor, int64_t and long, const by value); the return type is "
    "not part of the symbol. Silent where the parse of cuda_sources has errors that could hide the definition.",
    fix="Replaces the prototype by the head of the definition, or writes the missing function where a "
    "kernel of that name goes over the elements.",
    check=check,
    explained_by=("BLD002",),
)
