"""Which headers the precompiled ones hold: what answers use of torch/extension.h, never more.

A name that the real header would not show must stay unknown, so each candidate is taken only where
the compiler's own list of dependencies of the real header has it.
"""

from __future__ import annotations

import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
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
_END = '#include "stubs/virtual_members.h"\n'
_BINDINGS = '#include "stubs/bindings.h"\n'
_TYPES = "#include <torch/types.h>\n#include <cuda.h>\n#include <cuda_runtime.h>\n"


@dataclass(frozen=True)
class Closure:
    """What the real torch/extension.h and load_inline's CUDA prefix are made of."""

    headers: list[Path]
    """Every header that they read."""
    text: str
    """All of it, preprocessed for the host and once more as for nvcc."""


def closure(toolchain: Toolchain) -> Closure:
    """Have the real headers read, once for the host and once as for nvcc.

    Raises:
        GraderError: g++ can't read them.

    """
    text = (
        "#include <torch/extension.h>\n#include <cuda.h>\n#include <cuda_runtime.h>\n"
        "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n"
    )
    modes: list[list[str]] = [[], ["-D__CUDACC__", "-D__NVCC__", "-D__CUDACC_VER_MAJOR__=13"]]
    with ThreadPoolExecutor(len(modes)) as pool:
        texts = list(pool.map(lambda defines: _preprocess(toolchain, text, defines), modes))
    marks = dict.fromkeys(name for one in texts for name in _LINE_MARK.findall(one))
    found = {Path(name): None for name in marks}
    for include in toolchain.cuda_includes[:1]:
        for name in ("crt/*.h", "crt/*.hpp", "sm_*.h*", "device_*.h*", "math_*.h", "*vector_*.h*"):
            found.update(dict.fromkeys(include.glob(name)))
        names = ("cuda_fp16", "cuda_bf16", "cuda_fp8", "host_defines", "driver_types")
        found.update({include / f"{n}{s}": None for n in names for s in (".h", ".hpp")})
    return Closure(list(found), "\n".join(texts))


_LINE_MARK = re.compile(r'^# \d+ "(/[^"]+)"', re.MULTILINE)


def _preprocess(toolchain: Toolchain, text: str, defines: list[str]) -> str:
    """Return the text with all that it includes; `defines` may turn an `#error` on."""
    folders = [*toolchain.torch_includes, *toolchain.cuda_includes, toolchain.python_include]
    includes = [part for path in folders for part in ("-isystem", str(path))]
    standard = f"-std={toolchain.cpp_standard}"
    call = [str(toolchain.gxx), standard, "-E", "-x", "c++", *defines, *includes, "-"]
    done = subprocess.run(call, input=text.encode(), capture_output=True, check=False)
    if done.returncode and not defines:
        raise GraderError(
            f"g++ can't read torch's headers: {done.stderr.decode('utf-8', 'replace')[:500]}",
            "Check that the Python development headers are installed.",
        )
    return done.stdout.decode("utf-8", "replace")


def include_names(toolchain: Toolchain, headers: list[Path]) -> set[str]:
    """Return the names by which source text can include these headers."""
    roots = [
        *toolchain.torch_includes,
        *toolchain.cuda_includes,
        *toolchain.system_includes,
        toolchain.python_include,
    ]
    bases = {f"{base}/" for root in roots for base in (root, root.resolve())}
    paths = {str(path) for header in headers for path in (header, header.resolve())}
    return {path.removeprefix(b) for path in paths for b in bases if path.startswith(b)}


TYPES = _CUDA_START + _TYPES + _END
"""Text of the header `types`: load_inline's own start of a CUDA file."""


def headers(names: set[str]) -> dict[str, str]:
    """Return the texts of the other headers to precompile, by name; `extension` goes on from `types`."""
    extension = [name for name in (*_EXTENSION, *_STANDARD) if name in names]
    lines = "".join(f"#include <{name}>\n" for name in extension)
    main = "#include <torch/types.h>\n" + lines + _END
    return {"extension": lines + _BINDINGS, "main": main, "main_old_abi": main}
