"""Every device function that CUDA's headers declare, as a kernel of its own: `out[t] = f(a0[t], a1[t], ...)`.

What a pointer parameter points at is an array as well, with an element for each thread.
"""

from __future__ import annotations

import re
import subprocess
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

HEADERS = (
    "crt/device_functions.h", "crt/math_functions.h", "cuda_fp16.h", "cuda_bf16.h", "crt/sm_70_rt.h", "crt/sm_80_rt.h",
    "crt/sm_90_rt.h", "sm_20_intrinsics.h", "sm_30_intrinsics.h", "sm_32_intrinsics.h", "sm_35_intrinsics.h",
    "sm_61_intrinsics.h", "sm_20_atomic_functions.h", "sm_32_atomic_functions.h", "sm_60_atomic_functions.h",
    "device_atomic_functions.h", "crt/device_double_functions.h",
)  # fmt: skip
INCLUDES = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n"
THREADS = 32
LEFT_OUT = re.compile(
    r"_sync|barrier|trap|brkpt|clock|prof|nanosleep|exit|cluster|cvta|__is(Shared|Global|Local|Const|Grid)|malloc|free"
    r"|printf|assert|^__pm|fence|^_*(any|all|ballot)$|^nanf?$|norm$|normf$|^[jy]nf?$"
)
"""Control, cooperation, addresses, times; those that read as many values, or do as much, as an argument says."""
_WORDS = {
    1: "char, signed char, unsigned char, bool",
    2: "short, unsigned short, half, __half, __nv_bfloat16",
    4: "int, unsigned, unsigned int, float, half2, __half2, __nv_bfloat162, char4, uchar4, short2, ushort2",
    8: "long, unsigned long, long int, unsigned long int, long long, unsigned long long, long long int, "
    "unsigned long long int, size_t, double, float2, int2, uint2",
    16: "float4, int4, uint4, double2",
}
SIZES = {name: size for size, names in _WORDS.items() for name in names.split(", ")}
"""Bytes of each type that a parameter may have."""
_FLOATS = {
    "float": "f4",
    "float2": "f4",
    "float4": "f4",
    "double": "f8",
    "double2": "f8",
    "half": "f2",
    "half2": "f2",
}
_DECLARED = re.compile(
    r"([A-Za-z_][\w \t*]*?)\s*\b(\w+)\s*\(([^(){};]*)\)\s*(?:__\w+__\s*\([^)]*\)|__\w+|noexcept|throw\(\))*?\s*(?:[;{]|__DEF_IF_HOST)"
)
_SPECIFIERS = re.compile(
    r"\b(extern|static|inline|const|volatile|__\w*inline__|__(?:device|host)__|_?_[A-Z]\w*|__\w*builtin__)\b"
)
_COMMENTS = re.compile(
    r"/\*.*?\*/|//[^\n]*|^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.DOTALL | re.MULTILINE
)


@dataclass(frozen=True)
class Function:
    """One overload."""

    name: str
    result: str
    parameters: tuple[tuple[str, bool], ...]
    """Type, and whether it is a pointer."""

    @cached_property
    def key(self) -> str:
        """What it is called in recordings."""
        return (
            f"{self.name}({', '.join(kind + '*' * pointer for kind, pointer in self.parameters)})"
        )

    @property
    def types(self) -> tuple[str, ...]:
        """Of the kernel's arrays."""
        own = tuple(kind for kind, _ in self.parameters)
        return own if self.result == "void" else (*own, self.result)

    def kernel(self, name: str) -> str:
        """One line of CUDA."""
        arrays = ", ".join(f"{kind}* a{k}" for k, kind in enumerate(self.types))
        values = ", ".join(
            f"a{k} + threadIdx.x" if pointer else f"a{k}[threadIdx.x]"
            for k, (_, pointer) in enumerate(self.parameters)
        )
        out = "" if self.result == "void" else f"a{len(self.parameters)}[threadIdx.x] = "
        return f'extern "C" __global__ void {name}({arrays}) {{ {out}{self.name}({values}); }}\n'

    def inputs(self) -> list[np.ndarray]:
        """Bytes of each array before the launch; the same on every machine."""
        draw = np.random.default_rng(zlib.crc32(self.key.encode()))
        arrays = [_values(kind, draw) for kind, _ in self.parameters]
        return [
            *arrays,
            *(np.zeros(THREADS * SIZES[kind], "u1") for kind in self.types[len(arrays) :]),
        ]


def numbers(kind: str, data: np.ndarray) -> np.ndarray | None:
    """Return the floats in an array's bytes as f64; None for integers."""
    if kind.startswith("__nv_bf"):
        return (data.view("u2").astype("u4") << 16).view("f4").astype("f8")
    dtype = _FLOATS.get(kind.removeprefix("__"))
    return None if dtype is None else data.view(dtype).astype("f8")


def declared(folder: Path) -> list[Function]:
    """Return what the headers of a toolkit declare with types known here, once each, in order of their keys."""
    found: dict[str, Function] = {}
    for header in HEADERS:
        text = (folder / header).read_text(errors="replace") if (folder / header).exists() else ""
        for result, name, parameters in _DECLARED.findall(_COMMENTS.sub("", text)):
            kind = " ".join(_SPECIFIERS.sub("", result).split())
            kinds = [
                _parameter(one) for one in parameters.split(",") if one.strip() not in ("", "void")
            ]
            if LEFT_OUT.search(name) or None in kinds or not kinds or kind not in {*SIZES, "void"}:
                continue
            function = Function(name, kind, tuple(filter(None, kinds)))
            found.setdefault(function.key, function)
    return [found[key] for key in sorted(found)]


def _parameter(text: str) -> tuple[str, bool] | None:
    """Return type and whether it is a pointer, of `const float *x = 0`."""
    pointer = "*" in text
    words = re.sub(
        r"\b(const|volatile|__restrict__)\b|\*", " ", text.split("=", maxsplit=1)[0]
    ).split()
    while words and " ".join(words) not in SIZES:
        words.pop()
    return (" ".join(words), pointer) if words else None


def translate(
    nvcc: str, functions: Iterable[Function], folder: Path
) -> tuple[str, dict[str, Function]]:
    """Return PTX for sm_90, and which function each kernel calls; without those that nvcc refuses."""
    left = list(functions)
    source = folder / "functions.cu"
    for _ in range(9):
        source.write_text(INCLUDES + "".join(one.kernel(f"k{n}") for n, one in enumerate(left)))
        command = [
            nvcc,
            "-arch=sm_90",
            "-std=c++17",
            "-ptx",
            "-w",
            "-Xcudafe",
            "--error_limit=100000",
        ]
        done = subprocess.run(
            [*command, str(source), "-o", "-"], capture_output=True, text=True, check=False
        )
        if done.returncode == 0:
            return done.stdout, {f"k{n}": one for n, one in enumerate(left)}
        first = INCLUDES.count("\n") + 1
        refused = {
            int(n) - first for n in re.findall(r"functions\.cu\((\d+)\): error", done.stderr)
        }
        assert refused, done.stderr[-2000:]
        left = [one for n, one in enumerate(left) if n not in refused]
    raise AssertionError("nvcc finds new errors again and again")


def _values(kind: str, draw: np.random.Generator) -> np.ndarray:
    """Return bytes of numbers of all sizes, with the special ones among them."""
    size = SIZES[kind] * THREADS
    if kind.startswith("__nv_bf"):
        return (_floats(size // 2, "f4", draw).view("u4") >> 16).astype("u2").view("u1")
    if dtype := _FLOATS.get(kind.removeprefix("__")):
        return _floats(size // int(dtype[1]), dtype, draw).view("u1")
    if kind == "bool":
        return draw.integers(0, 2, size, dtype="u1")
    whole = draw.integers(0, 256, size, dtype="u1")
    if SIZES[kind] > 1:
        words = whole.view(f"u{min(SIZES[kind], 8)}")
        words[::2] = draw.integers(0, 70, words[::2].size)
    return whole


def _floats(count: int, dtype: str, draw: np.random.Generator) -> np.ndarray:
    values = draw.standard_normal(count) * np.exp(draw.uniform(-6, 6, count))
    special = [0, -0.0, 1, -1, 0.5, np.inf, -np.inf, np.nan, 1e-39, 1e38, 65504, 1e-7]
    values[draw.permutation(count)[: len(special)]] = special
    with np.errstate(over="ignore"):
        return values.astype(dtype)


def save(kept: dict[str, np.ndarray], path: Path) -> None:
    """Write arrays of bytes by their names, as three arrays: an archive of one for each would be twice as large."""
    lengths = [one.size for one in kept.values()]
    data = np.concatenate(list(kept.values()))
    np.savez_compressed(path, names=np.array("\n".join(kept)), lengths=lengths, data=data)


def saved(path: Path) -> dict[str, np.ndarray]:
    """Read what `save` wrote."""
    with np.load(path) as archive:
        names, ends = str(archive["names"]).split("\n"), np.cumsum(archive["lengths"])
        return dict(zip(names, np.split(archive["data"], ends[:-1]), strict=True))
