"""Words that identify CUDA C++, and the Python around it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

KERNEL = "__global__"
SUFFIXES = (".cu", ".cuh", ".cpp", ".cc", ".h", ".hpp")
FILE_SIGNS = (
    KERNEL,
    "torch::Tensor",
    "at::Tensor",
    "#include",
    "#pragma once",
    "PYBIND11_MODULE",
)
_CODE = re.compile(r"#include|__global__|__device__|torch::|PYBIND11_MODULE")


def _is_cuda(text: str) -> bool:
    return KERNEL in text


def _is_cpp(text: str) -> bool:
    return KERNEL not in text and "torch::Tensor" in text


ARGUMENTS: Mapping[str, Callable[[str], bool]] = {"cuda_sources": _is_cuda, "cpp_sources": _is_cpp}
"""Of `load_inline`."""


def asks_a_compiler(code: str) -> bool:
    """Whether a program names torch's functions that build extensions."""
    return "load_inline" in code or "cpp_extension" in code


def lexer(text: str) -> str | None:
    """Return the alias of the lexer for a string's syntax; None where the string is not code."""
    if not _CODE.search(text):
        return None
    return "cuda" if KERNEL in text or "__device__" in text else "cpp"
