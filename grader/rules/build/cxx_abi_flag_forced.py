"""BLD018: a flag forces the layout of std::string, against torch's own."""

from collections.abc import Iterator

from grader.records import Context, Finding
from grader.rules.rule import Rule
from grader.source import Source
from grader.source.analysis.diagnostics import errors
from grader.source.code_edits import drop_flags, fix

FLAG = "_GLIBCXX_USE_CXX11_ABI="
OF_STRINGS = ("basic_string", "RKSs")
"""How undefined symbols name a `std::string`."""


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for the macro in every list of flags."""
    evidence = tuple(
        item
        for item, meaning in errors(context)
        if meaning is not None and meaning.kind == "undefined-symbol"
        if any(word in item.said for word in OF_STRINGS)
    )
    for extension in source.extensions:
        given = {"extra_cflags": extension.cflags, "extra_cuda_cflags": extension.cuda_cflags}
        for keyword, flags in given.items():
            forced = next((flag for flag in flags or () if FLAG in flag), "")
            if forced and keyword in extension.keywords:
                edits = drop_flags(source, extension.node, keyword, lambda flag: FLAG in flag)
                yield RULE.finding(
                    source.place(extension.keywords[keyword]),
                    f"{forced} forces the layout of C++ strings; where torch was built with the "
                    "other one, the module fails to load with an undefined symbol",
                    severity="error" if evidence else "warning",
                    evidence=evidence,
                    fixes=fix("drop the flag", edits),
                )


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
