"""BLD018: a flag forces the layout of std::string, against torch's own."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.records import Context, Edit, Finding
from grader.rules.rule import Rule
from grader.source import Source
from grader.source.analysis.diagnostics import errors
from grader.source.code_edits import delete_item, delete_keyword, fix
from grader.source.python_code import constant_text

FLAG = "_GLIBCXX_USE_CXX11_ABI="


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for the macro in every list of flags."""
    evidence = tuple(
        item
        for item, meaning in errors(context)
        if (
            meaning is not None
            and meaning.kind == "undefined-symbol"
            and "basic_string" in item.said
        )
        or "RKSs" in item.said
    )
    for extension in source.extensions:
        for keyword, flags in (
            ("extra_cflags", extension.cflags),
            ("extra_cuda_cflags", extension.cuda_cflags),
        ):
            forced = [flag for flag in flags or () if FLAG in flag]
            if forced and keyword in extension.keywords:
                value = extension.keywords[keyword]
                yield RULE.finding(
                    source.place(value),
                    f"{forced[0]} forces the layout of C++ strings; where torch was built with the "
                    "other one, the module fails to load with an undefined symbol",
                    severity="error" if evidence else "warning",
                    evidence=evidence,
                    fixes=fix("drop the flag", _without(source, extension.node, keyword, value)),
                )


def _without(source: Source, call: ast.Call, keyword: str, value: ast.expr) -> list[Edit | None]:
    if not isinstance(value, ast.List):
        return [None]
    forced = [element for element in value.elts if FLAG in (constant_text(element) or "")]
    if len(forced) == len(value.elts):
        return [delete_keyword(source, call, keyword)]
    return [delete_item(source, element, source.span(value)[1]) for element in forced]


_BAD = """
import torch
from torch.utils.cpp_extension import load_inline
ext = load_inline(name="e", cpp_sources="torch::Tensor f(torch::Tensor x);", cuda_sources="",
                  functions=["f"], extra_cflags=["-D_GLIBCXX_USE_CXX11_ABI=0"])
"""
RULE = Rule(
    code="BLD018",
    name="cxx-abi-flag-forced",
    severity="warning",
    summary="A compiler flag forces a C++ library layout that may not match the installed PyTorch; the module can then fail to load.",
    why="load_inline passes the value that torch itself was built with. A flag that says otherwise "
    "mangles std::string differently, and the import ends in an undefined symbol.",
    bad=_BAD,
    good=_BAD.replace("D_GLIBCXX_USE_CXX11_ABI=0", "O3"),
    detects=("text", "build"),
    languages=("cuda",),
    guards="Not every forced flag is fatal: functions without std::string in their names load all "
    "the same, so it is a warning until the import has failed.",
    fix="Deletes the flag; load_inline sets the right one.",
    check=check,
    predicts="elsewhere",
)
