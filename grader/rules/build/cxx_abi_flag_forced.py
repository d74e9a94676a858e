"""BLD018: a flag forces the layout of std::string, against torch's own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from grader.records import Finding
from grader.rules.rule import Context, Rule

if TYPE_CHECKING:
    from grader.source import Source

FLAG = "_GLIBCXX_USE_CXX11_ABI="


def check(source: Source, _context: Context) -> Iterator[Finding]:
    """Look for the macro in every list of flags."""
    for extension in source.extensions:
        for keyword in ("extra_cflags", "extra_cuda_cflags"):
            flags = extension.cflags if keyword == "extra_cflags" else extension.cuda_cflags
            forced = [flag for flag in flags or () if FLAG in flag]
            if forced:
                yield RULE.finding(
                    source.place(extension.keywords[keyword]),
                    f"{forced[0]} forces the C++ library's string layout; where torch was built "
                    "with the other one, the module fails to load with an undefined symbol",
                )


RULE = Rule(
    code="BLD018",
    name="cxx-abi-flag-forced",
    severity="warning",
    summary="A compiler flag forces a C++ library layout that may not match the installed "
    "PyTorch; the module can then fail to load.",
    why="load_inline passes the value that torch itself was built with. A flag that says otherwise "
    "mangles std::string differently, and the import ends in an undefined symbol.",
    bad="""
import torch
from torch.utils.cpp_extension import load_inline
ext = load_inline(name="e", cpp_sources="torch::Tensor f(torch::Tensor x);", cuda_sources="",
                  functions=["f"], extra_cflags=["-D_GLIBCXX_USE_CXX11_ABI=0"])
""",
    good="""
import torch
from torch.utils.cpp_extension import load_inline
ext = load_inline(name="e", cpp_sources="torch::Tensor f(torch::Tensor x);", cuda_sources="",
                  functions=["f"], extra_cflags=["-O3"])
""",
    detects=("text", "build"),
    guards="Not every forced flag is fatal: functions without std::string in their names load all "
    "the same, so it is a warning until the import has failed.",
    mend="Deletes the flag; load_inline sets the right one.",
    check=check,
)
