"""Host code: clang over the precompiled torch, in CUDA host-only mode for a .cu file."""

from __future__ import annotations

import re
from pathlib import Path

from grader.build.driver import binding, cccl
from grader.build.driver.blank import blank_device_bodies, tokens
from grader.build.driver.command import Command
from grader.build.driver.config import Config
from grader.build.driver.tools import Outcome, run

_PREFIX = re.compile(
    r"\s*#include <torch/types\.h>\n#include <cuda\.h>\n#include <cuda_runtime\.h>\n"
)
_OWN_FILE = re.compile(
    r"(?:\s|//[^\n]*\n|/\*.*?\*/|#pragma once)*#include <torch/extension\.h>", re.DOTALL
)
"""Beginning of a file for torch's `load`, which includes the same headers."""
_EXTENSION = re.compile(
    r'#\s*include\s*[<"](?:torch/(?:extension|all|torch|python)\.h|pybind11/.*)[>"]'
)
_HARMLESS_DEFINES = {"NDEBUG", "TORCH_EXTENSION_NAME", "TORCH_API_INCLUDE_EXTENSION_H"}
_PYBIND_ABI = re.compile(r"-DPYBIND11_(?:COMPILER_TYPE|STDLIB|BUILD_ABI)=")
"""Older torch gives every call the names of its own build; they only name pybind11's registry of
types, in which an extension of functions over tensors has none."""
_CUDA_DEFINES = re.compile(r"-D__CUDA_NO_\w+__$")
CUDA_DEFINES = [
    "-D__CUDA_NO_HALF_OPERATORS__",
    "-D__CUDA_NO_HALF_CONVERSIONS__",
    "-D__CUDA_NO_BFLOAT16_CONVERSIONS__",
    "-D__CUDA_NO_HALF2_OPERATORS__",
]
"""Macros that torch defines in every nvcc call; part of the precompiled headers."""
_HARMLESS_FLAGS = re.compile(
    r"-(?:O\w*|g\w*|W(?!error).*|w|m(?:arch|tune|avx|sse|fma|f16c|bmi).*|pthread|pipe|v|std"
    r"|f(?:PIC|pic|fast-math|no-math-errno|openmp|unroll-loops|permissive|visibility.*|opt-info.*"
    r"|no-finite-math-only|strict-aliasing|no-strict-aliasing|omit-frame-pointer|tree-vectorize"
    r"|inline-functions|lto.*|diagnostics.*))$"
)


PRESENT_ABI = "-D_GLIBCXX_USE_CXX11_ABI=1"
"""Already set in the precompiled headers; torch before 2.9 passes it in every call."""
OLD_ABI = "-D_GLIBCXX_USE_CXX11_ABI=0"
"""Common in answers since torch wheels had that ABI; it has its own precompiled header."""


def cpp_header(command: Command, text: str) -> str:
    """Return the name of the precompiled header for a C++ file."""
    if OLD_ABI in command.defines:
        return "main_old_abi"
    return "extension" if binding.only_declares(text) else "main"


def why_unsuited(config: Config, command: Command, flags: list[tuple[str, str | None]]) -> str:
    """Return why the precompiled headers don't fit this call; empty if they do."""
    conditions = set(config.read_json("conditions.json"))
    for define in command.defines:
        name = define[2:].partition("=")[0].partition("(")[0]
        if define in (OLD_ABI, PRESENT_ABI) or _PYBIND_ABI.match(define):
            continue
        if name in conditions and name not in _HARMLESS_DEFINES and not _CUDA_DEFINES.match(define):
            return f"{define} changes what is precompiled"
        if define.startswith("-U"):
            return f"{define} may change what is precompiled"
    for name, value in flags:
        if name == "-std" and (value or "").replace("gnu", "c") != config.standard:
            return f"-std={value} is not the precompiled one"
        if not _HARMLESS_FLAGS.match(name):
            return f"{name} may change what is precompiled"
    return ""


def host_flags(command: Command) -> list[tuple[str, str | None]]:
    """Return the flags of an nvcc call that reach the host compiler."""
    found: list[tuple[str, str | None]] = []
    for value in command.values("-Xcompiler"):
        for part in value.strip("'\"").replace(",", " ").split():
            name, equals, rest = part.partition("=")
            found.append((name, rest) if equals and name == "-std" else (part, None))
    found += [("-std", value) for value in command.values("-std")]
    return found


def precompiled_for(text: str) -> str | None:
    """Return the name of the precompiled header that this CUDA file begins with, if any."""
    if not _PREFIX.match(text):
        return "extension" if _OWN_FILE.match(text) else None
    includes = "\n".join(t for kind, t, _, _ in tokens(text) if kind == "directive")
    return "extension" if _EXTENSION.search(includes) else "types"


def cuda_object(
    config: Config,
    command: Command,
    text: str,
    header: str,
    *,
    blob: Path,
    folder: Path,
    face: bool,
    behind: str = "",
    cccl_for: str = "",
) -> Outcome:
    """Compile the host side of a CUDA file, with the blob as its GPU binary.

    `face` puts the simulator's small stand-ins before torch's own CUDA headers; `behind` is C++ appended to it;
    `cccl_for` is the architecture for which CCCL itself is included.
    """
    source = Path(command.sources[0]).resolve()
    body = _PREFIX.sub("\n\n\n", text, count=1)
    blanked = folder / "host.cu"
    blanked.write_text(f'#line 1 "{source}"\n' + blank_device_bodies(body) + behind, "utf-8")
    arguments = [
        *common(config),
        *cuda_mode(),
        # As with nvcc, the object then lacks the symbols that a device link defines.
        *(["-fgpu-rdc", "--no-offload-new-driver"] if command.relocatable else []),
        "-include-pch",
        config.path(f"{header}.pch"),
        "-include",
        config.path("stubs", "cuda_after.h"),
        *(cccl.flags(config, cccl_for) if cccl_for else []),
        *_defines(command),
        *_includes(config, command, cuda=True, face=face),
        "-Xclang",
        "-fcuda-include-gpubinary",
        "-Xclang",
        str(blob),
        "-c",
        str(blanked),
        "-o",
        str(command.output),
    ]
    return run(arguments)


def cpp_object(config: Config, command: Command, text: str, folder: Path) -> Outcome:
    """Compile a C++ file that starts with torch/extension.h."""
    source, header = Path(command.sources[0]).resolve(), cpp_header(command, text)
    if header == "extension":
        named = f'#line 1 "{source}"\n' + binding.with_docs_of_one_type(text)
        source = folder / "main.cpp"
        source.write_text(named, "utf-8")
    arguments = [
        *over(config, header),
        *_defines(command),
        *_includes(config, command, cuda=False, face=config.device == "sim"),
        "-c",
        str(source),
        "-o",
        str(command.output),
    ]
    return run(arguments)


def over(config: Config, header: str) -> list[str]:
    """Return the beginning of clang's command line for a C++ file that uses a precompiled header."""
    defines = CUDA_DEFINES if header == "extension" else []
    return [*common(config), "-x", "c++", *defines, "-include-pch", config.path(f"{header}.pch")]


def common(config: Config) -> list[str]:
    """Return clang's flags that the precompiled headers and every use of them share."""
    includes = [*config.system_includes]
    builtin = str(Path(str(config.zig)).parent / "lib" / "include")
    # clang's own headers go before the C library's, after the C++ library's, as g++ has it.
    position = next((i for i, p in enumerate(includes) if "c++" not in p), len(includes))
    includes.insert(position, builtin)
    return [
        str(config.zig),
        "clang",
        "--target=x86_64-linux-gnu",
        f"-std={config.standard}",
        "-fPIC",
        "-O0",
        "-w",
        "-DTORCH_API_INCLUDE_EXTENSION_H",
        "-nostdinc",
        "-nostdinc++",
        *(part for path in includes for part in ("-isystem", path)),
    ]


def cuda_mode() -> list[str]:
    """Return the flags of clang's CUDA host-only mode.

    The precompiled headers are plain C++ (the host's view of CUDA is), hence `-fno-validate-pch`:
    made in CUDA mode, every use would read two thirds of them back to look for delayed errors, in
    three times the time.
    """
    return [
        "-x",
        "cuda",
        "--cuda-host-only",
        "-nocudainc",
        "-nocudalib",
        "-Wno-unknown-cuda-version",
        # Else clang looks for a toolkit in /usr/local/cuda, and without one launches the old way.
        "-Xclang",
        "-target-sdk-version=12.8",
        "-U__CUDA__",
        "-Xclang",
        "-fno-validate-pch",
        *CUDA_DEFINES,
    ]


def headers(config: Config, *, cuda: bool) -> list[str]:
    """Return the header folders that the precompiled headers and every use of them share."""
    own = [config.path("host"), config.path("stubs", "host"), config.path("stubs")]
    folders = own if cuda else []
    folders += [*config.torch_includes, *config.cuda_includes, *config.library_includes]
    return [part for path in [*folders, config.python_include] for part in ("-isystem", path)]


def _includes(config: Config, command: Command, *, cuda: bool, face: bool) -> list[str]:
    own = [f"{config.stubs}/lean", *([f"{config.stubs}/face"] if face else []), *command.includes]
    return [*(f"-I{path}" for path in own), *headers(config, cuda=cuda)]


def _defines(command: Command) -> list[str]:
    return [
        define
        for define in command.defines
        if not _CUDA_DEFINES.match(define)
        and not _PYBIND_ABI.match(define)
        and define != PRESENT_ABI
        and "INCLUDE_EXTENSION_H" not in define
    ]
