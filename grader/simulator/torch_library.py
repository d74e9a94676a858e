"""Builds the part of the simulator that needs torch's headers: the CUDA device without a GPU."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
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


@dataclass(frozen=True)
class Quick:
    """A compiler that has torch's headers precompiled."""

    compile: tuple[str, ...]
    """The command that takes a C++ file, but for the file and what comes after it."""
    link: tuple[str, ...]
    """What the linker is given beside the objects."""


def build(
    cache: Path,
    cxx: Path,
    headers: TorchHeaders,
    quick: Quick | None = None,
    begin: Callable[[], None] = lambda: None,
) -> Path:
    """Return the path of libkgtorch.so, built once for each torch and compiler.

    Takes two seconds on one core with a quick compiler, else 20; safe under many processes. It finds the
    simulator's library by its symbols: whoever loads it loads libkgsim.so first, globally. `begin` is
    called before anything is compiled.

    Raises:
        GraderError: the compiler refuses.

    """
    sources = sorted(_SOURCES.glob("*.cpp"))
    headers_of_ours = [*sorted(_SOURCES.glob("*.hpp")), _NATIVE / "guard_alloc.hpp"]
    own = [path.read_bytes() for path in [*sources, *headers_of_ours]]
    stamp = (str(headers.torch), headers.version, str(headers.cxx11_abi), str(cxx), repr(quick))
    folder = cache / digest(*stamp, *own)[:24]
    library = folder / NAME
    if library.is_file():
        return library
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(str(folder / "lock")):
        if not library.is_file():
            begin()
            _build(folder, cxx, headers, sources, quick)
    return library


def _build(
    folder: Path,
    cxx: Path,
    headers: TorchHeaders,
    sources: Sequence[Path],
    quick: Quick | None,
) -> None:
    """Compile and link, with the quick compiler where it can."""
    libraries = ["-L", str(headers.torch / "lib"), "-lc10", "-ltorch_cpu", f"-Wl,-soname,{NAME}"]
    plain = [str(cxx), *_flags(headers)]
    if quick is not None:
        ours = [*quick.compile, f"-I{_NATIVE}", f"-I{_SOURCES}"]
        try:
            return _make_library(folder, sources, ours, [str(cxx)], [*quick.link, *libraries])
        except GraderError:  # what the plain compiler then says counts
            pass
    return _make_library(folder, sources, plain, [str(cxx)], libraries)


def _flags(headers: TorchHeaders) -> list[str]:
    include = headers.torch / "include"
    folders = [include, include / "torch" / "csrc" / "api" / "include"]
    return [
        "-std=c++20",
        "-O1",
        "-fPIC",
        "-w",
        f"-I{_NATIVE}",
        f"-D_GLIBCXX_USE_CXX11_ABI={int(headers.cxx11_abi)}",
        *(part for path in folders for part in ("-isystem", str(path))),
    ]


def _make_library(
    folder: Path,
    sources: Sequence[Path],
    compiler: Sequence[str],
    linker: Sequence[str],
    libraries: Sequence[str],
) -> None:
    objects = [folder / f"{source.stem}.o" for source in sources]
    calls = [
        [*compiler, "-c", str(source), "-o", str(target)]
        for source, target in zip(sources, objects, strict=True)
    ]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(_call, calls))
    draft = folder / f"{NAME}.part"
    _call([*linker, "-shared", "-o", str(draft), *map(str, objects), *libraries])
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
