"""Builds the part of the simulator that needs torch's headers: the CUDA device without a GPU."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from grader.errors import GraderError
from grader.records import digest

NAME = "libkgtorch.so"
_NATIVE = Path(__file__).parent / "native"
_SOURCES = _NATIVE / "torch"


@dataclass(frozen=True)
class TorchHeaders:
    """What the library is compiled against."""

    torch: Path
    """torch's package folder."""
    version: str
    cxx11_abi: bool = True


def build(cache: Path, cxx: Path, headers: TorchHeaders) -> Path:
    """Return the path of libkgtorch.so, built once for each torch and compiler.

    Takes about 15 seconds on one core; safe under many processes. It finds the simulator's library
    by its symbols: whoever loads it loads libkgsim.so first, globally.

    Raises:
        GraderError: the compiler refuses.

    """
    sources = sorted(_SOURCES.glob("*.cpp"))
    headers_of_ours = [*sorted(_SOURCES.glob("*.hpp")), _NATIVE / "guard_alloc.hpp"]
    own = [path.read_bytes() for path in [*sources, *headers_of_ours]]
    stamp = (str(headers.torch), headers.version, str(headers.cxx11_abi), str(cxx))
    folder = cache / digest(*stamp, *own)[:24]
    library = folder / NAME
    if library.is_file():
        return library
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(str(folder / "lock")):
        if not library.is_file():
            _build(folder, cxx, headers, sources)
    return library


def _build(folder: Path, cxx: Path, headers: TorchHeaders, sources: Sequence[Path]) -> None:
    include = headers.torch / "include"
    folders = [include, include / "torch" / "csrc" / "api" / "include"]
    flags = [
        "-std=c++20",
        "-O1",
        "-fPIC",
        "-w",
        f"-I{_NATIVE}",
        f"-D_GLIBCXX_USE_CXX11_ABI={int(headers.cxx11_abi)}",
        *(part for path in folders for part in ("-isystem", str(path))),
    ]
    objects = [folder / f"{source.stem}.o" for source in sources]
    calls = [
        [str(cxx), *flags, "-c", str(source), "-o", str(target)]
        for source, target in zip(sources, objects, strict=True)
    ]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(_call, calls))
    draft = folder / f"{NAME}.part"
    link = ["-shared", "-o", str(draft), *map(str, objects)]
    torch = ["-L", str(headers.torch / "lib"), "-lc10", "-ltorch_cpu"]
    _call([str(cxx), *link, *torch, f"-Wl,-soname,{NAME}"])
    draft.rename(folder / NAME)
    for path in objects:
        path.unlink()


def _call(arguments: Sequence[str]) -> None:
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if done.returncode:
        raise GraderError(
            f"the simulator's torch device did not compile: {done.stderr[-1500:]}",
            "Check that g++ 11 or later and Python's torch are complete.",
        )
