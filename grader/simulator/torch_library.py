"""Builds the part of the simulator that needs torch's headers: the CUDA device without a GPU."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from grader.errors import GraderError
from grader.records import digest

NAME = "libkgtorch.so"
_NATIVE = Path(__file__).parent / "native"
_SOURCES = _NATIVE / "torch"
# An operator's own header is a thousandth of all operators'.
_OURS = ("-DAT_PER_OPERATOR_HEADERS", f"-I{_NATIVE}", f"-I{_SOURCES}")


@dataclass(frozen=True)
class TorchHeaders:
    """The headers and libraries that the library is compiled against."""

    torch: Path
    """torch's package folder."""
    version: str
    cxx11_abi: bool = True


@dataclass(frozen=True)
class Quick:
    """A compiler that reads torch's headers in half of g++'s time."""

    compile: tuple[str, ...]
    """The command to compile a C++ file, without the file and later arguments."""


def place(cache: Path, cxx: Path, headers: TorchHeaders, quick: Quick | None = None) -> Path:
    """Return the path of libkgtorch.so for this torch and compiler, built or not."""
    own = [path.read_bytes() for path in (*_sources(), *_headers_of_ours())]
    stamp = (str(headers.torch), headers.version, str(headers.cxx11_abi), str(cxx), repr(quick))
    return cache / digest(*stamp, *own)[:24] / NAME


def build(
    library: Path,
    cxx: Path,
    headers: TorchHeaders,
    quick: Quick | None = None,
    begin: Callable[[], None] = lambda: None,
) -> Path:
    """Return the path of libkgtorch.so, built once at its `place`.

    Takes three seconds on one core with a quick compiler, else six; safe under many processes. It uses symbols of the
    simulator's library, so libkgsim.so must be loaded first, globally. `begin` is called before anything is compiled.

    Raises:
        GraderError: the compiler refuses.

    """
    if library.is_file():
        return library
    library.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(str(library.with_name("lock"))):
        if not library.is_file():
            begin()
            _build(library.parent, cxx, headers, quick)
    return library


def _sources() -> list[Path]:
    return sorted(_SOURCES.glob("*.cpp"))


def _headers_of_ours() -> list[Path]:
    return [*sorted(_SOURCES.glob("*.hpp")), _NATIVE / "guard_alloc.hpp"]


def _build(folder: Path, cxx: Path, headers: TorchHeaders, quick: Quick | None) -> None:
    """Compile all sources as one unit, since torch's headers take most of the time, and link."""
    unit = folder / "unit.cpp"
    unit.write_text("".join(f'#include "{source}"\n' for source in _sources()), "utf-8")
    compiled = unit.with_suffix(".o")
    _compile(unit, compiled, [str(cxx), *_flags(headers)], quick)
    draft = folder / f"{NAME}.part"
    libraries = ["-L", str(headers.torch / "lib"), "-lc10", "-ltorch_cpu", f"-Wl,-soname,{NAME}"]
    _call([str(cxx), "-shared", "-o", str(draft), str(compiled), *libraries])
    draft.rename(folder / NAME)
    compiled.unlink()


def _compile(unit: Path, compiled: Path, plain: Sequence[str], quick: Quick | None) -> None:
    """Compile with the quick compiler if possible; else with the plain one, whose result counts."""
    ours = [*_OURS, "-c", str(unit), "-o", str(compiled)]
    if quick is not None:
        try:
            return _call([*quick.compile, *ours])
        except GraderError:
            pass
    return _call([*plain, *ours])


def _flags(headers: TorchHeaders) -> list[str]:
    include = headers.torch / "include"
    folders = [include, include / "torch" / "csrc" / "api" / "include"]
    return [
        "-std=c++20",
        "-O1",
        "-fPIC",
        "-w",
        f"-D_GLIBCXX_USE_CXX11_ABI={int(headers.cxx11_abi)}",
        *(part for path in folders for part in ("-isystem", str(path))),
    ]


def _call(arguments: Sequence[str]) -> None:
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if done.returncode:
        raise GraderError(
            f"the simulator's torch device did not compile: {done.stderr[-1500:]}",
            "Check that g++ 11 or later and Python's torch are complete.",
        )
