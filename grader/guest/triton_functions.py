"""Math functions of Triton's programs by their names, for a run in exact arithmetic.

Triton links NVIDIA's math library into a kernel, as polynomials that no longer show the function. Here it links a
library of marks before that one: the assembler's place (grader/build/driver/triton.py) turns a mark into the
simulator's own instruction, as it does for CUDA's (grader/build/stubs/exact/functions.h).
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from triton.backends.nvidia.compiler import CUDAOptions

FUNCTIONS = (
    "exp", "exp2", "exp10", "expm1", "log", "log2", "log10", "log1p",
    "tanh", "sinh", "cosh", "sin", "cos", "erf", "erfc", "normcdf",
)  # fmt: skip
_FORMS = (("f", "float", "32", "f"), ("", "double", "64", "d"))
"""Suffix of a function's name, and its type in LLVM, in PTX and in inline assembly."""


def keep_names() -> None:
    """Make kernels compiled from now on call math functions by name."""
    path = Path(tempfile.mkdtemp(prefix="functions-"), "functions.ll")
    path.write_text("".join(_definitions()), "utf-8")
    original = CUDAOptions.__post_init__

    def with_marks(options: CUDAOptions) -> None:
        marks = {"functions": str(path), **dict(options.extern_libs or {})}
        object.__setattr__(options, "extern_libs", marks)
        original(options)

    CUDAOptions.__post_init__ = with_marks


def _definitions() -> Iterator[str]:
    yield 'target triple = "nvptx64-nvidia-cuda"\n'
    for end, kind, bits, letter in _FORMS:
        for name in FUNCTIONS:
            yield _definition(
                f"{name}{end}", kind, "%x", f"mov.f{bits} $0, $1; // math.{name}", letter
            )
        yield _definition(
            f"pow{end}", kind, "%x, %y", f"add.f{bits} $0, $1, $2; // math.pow", letter
        )


def _definition(name: str, kind: str, arguments: str, code: str, letter: str) -> str:
    typed = ", ".join(f"{kind} {one}" for one in arguments.split(", "))
    places = ",".join([f"={letter}", *(letter for _ in arguments.split(", "))])
    return (
        f"define {kind} @__nv_{name}({typed}) alwaysinline {{\n"
        f'  %r = call {kind} asm "{code}", "{places}"({typed})\n  ret {kind} %r\n}}\n'
    )
