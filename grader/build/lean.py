"""Which headers the precompiled ones hold: what answers use of torch/extension.h, never more.

A name that the real header would not show must stay unknown, so each candidate is taken only where
the compiler's own list of dependencies of the real header has it.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from grader.build.toolchain import Toolchain
from grader.errors import GraderError

_EXTENSION = (
    "torch/csrc/Device.h",
    "torch/csrc/Dtype.h",
    "torch/csrc/DynamicTypes.h",
    "torch/csrc/Exceptions.h",
    "torch/csrc/THP.h",
    "torch/csrc/autograd/python_variable.h",
    "torch/csrc/utils/pybind.h",
    "torch/csrc/autograd/custom_function.h",
    "torch/autograd.h",
    "torch/cuda.h",
    "torch/fft.h",
    "torch/utils.h",
    "torch/version.h",
    "ATen/Parallel.h",
    "ATen/TensorIndexing.h",
    "pybind11/pybind11.h",
    "pybind11/stl.h",
    "pybind11/functional.h",
)
_STANDARD = (
    "algorithm", "array", "atomic", "bitset", "cassert", "cfloat", "chrono", "climits", "cmath",
    "complex", "condition_variable", "cstddef", "cstdint", "cstdio", "cstdlib", "cstring",
    "ctime", "deque", "exception", "fstream", "functional", "future", "initializer_list",
    "iomanip", "ios", "iosfwd", "iostream", "istream", "iterator", "limits", "list", "locale",
    "map", "memory", "mutex", "new", "numeric", "optional", "ostream", "queue", "random",
    "ratio", "set", "shared_mutex", "sstream", "stack", "stdexcept", "streambuf", "string",
    "string_view", "system_error", "thread", "tuple", "type_traits", "typeindex", "typeinfo",
    "unordered_map", "unordered_set", "utility", "valarray", "variant", "vector",
)  # fmt: skip
_CUDA_START = '#include "cuda_before.h"\n'
_TYPES = "#include <torch/types.h>\n#include <cuda.h>\n#include <cuda_runtime.h>\n"


def closure(toolchain: Toolchain) -> list[Path]:
    """Return every header that the real torch/extension.h and load_inline's CUDA prefix read.

    Raises:
        GraderError: g++ can't read them.

    """
    text = (
        "#include <torch/extension.h>\n#include <cuda.h>\n#include <cuda_runtime.h>\n"
        "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n"
    )
    found: dict[Path, None] = {}
    for defines in ([], ["-D__CUDACC__", "-D__NVCC__", "-D__CUDACC_VER_MAJOR__=13"]):
        for path in _dependencies(toolchain, text, defines, strict=not defines):
            found[path] = None
    for include in toolchain.cuda_includes[:1]:
        for name in ("crt/*.h", "crt/*.hpp", "sm_*.h*", "device_*.h*", "math_*.h", "*vector_*.h*"):
            found.update(dict.fromkeys(include.glob(name)))
        names = ("cuda_fp16", "cuda_bf16", "cuda_fp8", "host_defines", "driver_types")
        found.update({include / f"{n}{s}": None for n in names for s in (".h", ".hpp")})
    return list(found)


def _dependencies(
    toolchain: Toolchain, text: str, defines: list[str], *, strict: bool
) -> list[Path]:
    folders = [*toolchain.torch_includes, *toolchain.cuda_includes, toolchain.python_include]
    includes = [part for path in folders for part in ("-isystem", str(path))]
    standard = f"-std={toolchain.cpp_standard}"
    call = [str(toolchain.gxx), standard, "-M", "-x", "c++", *defines, *includes, "-"]
    done = subprocess.run(call, input=text.encode(), capture_output=True, check=False)
    if done.returncode and strict:
        raise GraderError(
            f"g++ can't read torch's headers: {done.stderr.decode('utf-8', 'replace')[:500]}",
            "Check that the Python development headers are installed.",
        )
    rule = done.stdout.decode("utf-8", "replace").partition(":")[2]
    return [Path(name) for name in re.findall(r"(/\S+)", rule.replace("\\\n", " "))]


def include_names(toolchain: Toolchain, headers: list[Path]) -> set[str]:
    """Return the names by which source text can include these headers."""
    roots = [
        *toolchain.torch_includes,
        *toolchain.cuda_includes,
        *toolchain.system_includes,
        toolchain.python_include,
    ]
    names: set[str] = set()
    for header in headers:
        resolved = header.resolve()
        for root in roots:
            for base in {root, root.resolve()}:
                for path in (header, resolved):
                    if path.is_relative_to(base):
                        names.add(str(path.relative_to(base)))
    return names


def headers(names: set[str]) -> dict[str, str]:
    """Return the texts of the headers to precompile, by file name."""
    extension = [name for name in (*_EXTENSION, *_STANDARD) if name in names]
    lines = "".join(f"#include <{name}>\n" for name in extension)
    return {
        "types.h": _CUDA_START + _TYPES,
        "extension.h": _CUDA_START + _TYPES + lines,
        "main.h": "#include <torch/types.h>\n" + lines,
        "main_old_abi.h": "#include <torch/types.h>\n" + lines,
    }
