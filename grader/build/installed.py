"""Search for compilers, headers and libraries on this machine, without importing torch."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import sys
from pathlib import Path

from grader.build.tool_queries import output, search

STAND_INS = Path(__file__).resolve().parent / "stubs" / "libraries"


def path(name: str) -> Path | None:
    """Return a program of the search path, or beside this Python."""
    beside = Path(sys.executable).parent / name
    found = shutil.which(name) or (str(beside) if os.access(beside, os.X_OK) else None)
    return Path(found) if found else None


def inside(package: str, *relative: str) -> Path | None:
    """Return a file inside an installed package's folder."""
    spec = importlib.util.find_spec(package)
    for folder in (spec.submodule_search_locations or []) if spec else []:
        for name in relative:
            path = (Path(folder) / name).resolve()
            if path.is_file():
                return path
    return None


def torch() -> tuple[Path | None, str, str | None]:
    """Return torch's package folder, its version, and the CUDA version that it was built for."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return None, "", None
    folder = Path(spec.origin).parent
    version = folder / "version.py"
    text = version.read_text("utf-8") if version.is_file() else ""
    cuda = search(r"(?m)^cuda\b[^=]*= *'([\d.]+)'", text)
    return folder, search(r"(?m)^__version__ *= *'([^']+)'", text), cuda or None


def triton() -> tuple[str, Path | None]:
    """Return Triton's version, and the folder of the assemblers in it; empty and None without it."""
    spec = importlib.util.find_spec("triton")
    if spec is None or spec.origin is None:
        return "", None
    folder = Path(spec.origin).parent
    version = search(r"(?m)^__version__ *= *'([^']+)'", (folder / "__init__.py").read_text("utf-8"))
    tools = folder / "backends" / "nvidia" / "bin"
    return version, tools if (tools / "ptxas").is_file() else None


def _site_folders() -> list[Path]:
    """Return the folders that hold installed packages, of pip's `nvidia` namespace above all."""
    return [Path(p) for p in dict.fromkeys(sys.path) if p and (Path(p) / "nvidia").is_dir()]


def nvcc() -> Path | None:
    """Return the real nvcc: from CUDA_HOME, the PATH, the usual place, or pip's package."""
    candidates = [
        Path(home) / "bin" / "nvcc"
        for name in ("CUDA_HOME", "CUDA_PATH")
        if (home := os.environ.get(name))
    ]
    if on_path := shutil.which("nvcc"):
        candidates.append(Path(on_path))
    candidates.append(Path("/usr/local/cuda/bin/nvcc"))
    for site in _site_folders():
        candidates += sorted(site.glob("nvidia/cu*/bin/nvcc"), reverse=True)
        candidates += sorted(site.glob("nvidia/cuda_nvcc/bin/nvcc"))
    for candidate in candidates:
        if os.access(candidate, os.X_OK):
            return _behind_wrapper(candidate)
    return None


def _behind_wrapper(nvcc: Path) -> Path:
    """Follow links and wrapper scripts to the nvcc that has its toolkit beside it."""
    here = search(r"_HERE_=(\S+)", output(nvcc, "--dryrun", "-E", "-x", "cu", "/dev/null"))
    real = Path(here) / "nvcc" if here else nvcc
    return real.resolve() if real.is_file() else nvcc.resolve()


def cuda_includes(home: Path | None) -> tuple[Path, ...]:
    """Return the header folders of a toolkit, in order."""
    if home is None:
        return ()
    targets = sorted(home.glob("targets/*-linux/include"))
    roots = [home / "include", *targets]
    found = [r for root in roots for r in (root, root / "cccl") if r.is_dir()]
    return tuple({path.resolve(): path for path in reversed(found)}.values())[::-1]


OTHERS = ("cudnn.h", "curand_kernel.h", "cufft.h", "nvrtc.h")
"""A header of each library that pip may have put into a folder of its own."""


def library_includes(home: Path | None) -> tuple[Path, ...]:
    """Return pip's folders with cuBLAS, cuDNN, cuRAND and the like, where the toolkit has no such headers.

    Torch's own CUDA headers use the types of some of them; where no headers define these, stand-ins do.
    """
    toolkit = home / "include" if home else None
    folders: list[Path] = []
    if toolkit is None or not (toolkit / "cusparse.h").is_file():
        folders = _pip_includes("cusparse.h", "cublas_v2.h", "cusolverDn.h")
        found = any((folder / "cusparse.h").is_file() for folder in folders)
        folders += [] if found else [STAND_INS]
    for header in OTHERS:
        if toolkit is None or not (toolkit / header).is_file():
            folders += _pip_includes(header)
    return tuple(dict.fromkeys(folders))


def _pip_includes(*names: str) -> list[Path]:
    return [
        header.parent
        for site in _site_folders()
        for name in names
        for header in sorted(site.glob(f"nvidia/*/include/{name}"))
    ]


def cudart(home: Path | None) -> Path | None:
    """Return the CUDA runtime of the toolkit, or of pip's packages."""
    folders = [home / "lib64", home / "lib"] if home else []
    for site in _site_folders():
        folders += sorted(site.glob("nvidia/*/lib"))
    for folder in folders:
        for name in sorted(folder.glob("libcudart.so*")):
            return name
    return None


def system_includes(gxx: Path | None) -> tuple[Path, ...]:
    """Return g++'s own search path, its compiler-private folder left out."""
    text = output(gxx, "-E", "-v", "-x", "c++", "/dev/null")
    block = search(
        r"(?s)search starts here:\n(?:#include <...> search starts here:\n)?(.*?)End of", text
    )
    paths = [Path(line.strip()) for line in block.splitlines() if line.startswith(" /")]
    own = re.compile(r"/lib/gcc[^/]*/.*/include(-fixed)?$")
    return tuple(p.resolve() for p in paths if not own.search(str(p)))


def zig() -> Path | None:
    """Return the program of the ziglang package, which is clang as well."""
    return inside("ziglang", "zig") or path("zig")
