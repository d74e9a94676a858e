"""The programs in the compilers' place, compiled to bytecode ahead, since they start several times in a build.

They use the standard library alone, without site-packages. They run a copy of this package's sources as bytecode: a
guest may not write bytecode beside the sources, and would compile them at each start. Folders above the copy are none
that a guest may list under every form of the sandbox.
"""

from __future__ import annotations

import importlib.util
import os
import py_compile
import shlex
import shutil
import sys
import tempfile
from functools import cache
from pathlib import Path

from grader.build.driver.tools import CANNOT_RUN, UNABLE
from grader.build.readable import open_to_guests
from grader.build.toolchain import Toolchain
from grader.records import digest

_ROOT = Path(__file__).resolve().parent.parent.parent
_PACKAGES = ("grader", "grader.build", "grader.simulator")
"""Packages whose __init__ the programs skip."""
_QUESTIONS = ("-v", "--version", "-dumpversion", "-dumpmachine", "-dumpfullversion -dumpversion")
"""Torch's queries of a compiler before a build, passed to the real one at once."""
_START = """import gc, sys, types; gc.disable()
class Later(types.ModuleType):
    def __getattr__(self, name):
        sys.modules.pop("inspect", None)
        import inspect
        return getattr(inspect, name)
sys.modules["inspect"] = Later("inspect")
for name in {packages!r}:
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [{copy!r} + "/" + name.replace(".", "/")]
try:
    from grader.build.driver.main import main
except Exception as error:
    print("{unable} the driver:", error)
    sys.exit({status})
sys.exit(main(sys.argv[1:]))"""
"""`dataclasses` imports `inspect`, which it hardly ever uses, and which would be a third of a driver's start."""
_PROGRAM = """#!/bin/sh
case "$*" in
{questions}) exec {tool} "$@" ;;
esac
exec {command} "$@"
"""


def _sources(root: Path) -> list[Path]:
    """Return every module that the programs may import."""
    build, simulator = root / "grader" / "build", root / "grader" / "simulator"
    folders = (build / "driver", simulator / "ptx")
    return [
        build / "header_extraction.py",
        *(p for folder in folders for p in sorted(folder.glob("*.py"))),
    ]


def programs(prepared: Path, toolchain: Toolchain) -> Path:
    """Return the folder of the compiler drivers, by their content, beside the prepared files.

    It doesn't depend on the name by which Python was started, since stored builds refer to it.
    """
    named = (toolchain.nvcc, toolchain.gxx, toolchain.zig, toolchain.triton_tools)
    tools = (_python(), *map(str, named))
    return prepared / f"bin-{digest(_contents(_ROOT), *tools)[:12]}"


def _python() -> str:
    """Return the Python of the drivers: a virtual environment's own would look for its settings first."""
    return os.path.realpath(getattr(sys, "_base_executable", sys.executable))


@cache
def _contents(root: Path) -> str:
    sources = [source.read_bytes() for source in _sources(root)]
    return digest(_START, _PROGRAM, importlib.util.MAGIC_NUMBER, *sources)


def write(prepared: Path, toolchain: Toolchain) -> None:
    """Write the programs that PYTORCH_NVCC, CXX and g++'s -fuse-ld=lld find, where missing."""
    folder = programs(prepared, toolchain)
    if folder.is_dir():
        return
    draft = Path(tempfile.mkdtemp(prefix="programs-", dir=prepared))
    for source in _sources(_ROOT):
        copy = draft / "lib" / source.relative_to(_ROOT).with_suffix(".pyc")
        copy.parent.mkdir(parents=True, exist_ok=True)
        _compile(source, copy)
    for name, role, tool in (
        ("kg-nvcc", "nvcc", toolchain.nvcc),
        ("kg-g++", "c++", toolchain.gxx),
        *((f"kg-{tool.name}", tool.name, tool) for tool in assemblers(toolchain)),
    ):
        _executable(draft / name, _text(role, str(tool), folder / "lib"))
    if toolchain.zig:
        linker = shlex.join([str(toolchain.zig), "ld.lld"])
        _executable(draft / "ld.lld", f'#!/bin/sh\nexec {linker} "$@"\n')
    open_to_guests(draft)
    try:
        draft.rename(folder)
    except OSError:  # another process was faster
        shutil.rmtree(draft, ignore_errors=True)


def assemblers(toolchain: Toolchain) -> tuple[Path, ...]:
    """Return the assemblers that Triton calls."""
    return tuple(sorted(toolchain.triton_tools.glob("ptxas*"))) if toolchain.triton_tools else ()


def _compile(source: Path, target: Path) -> None:
    never_checked = py_compile.PycInvalidationMode.UNCHECKED_HASH
    py_compile.compile(
        str(source), str(target), doraise=True, invalidation_mode=never_checked, quiet=2
    )


def _text(role: str, tool: str, copy: Path) -> str:
    start = _START.format(packages=_PACKAGES, copy=str(copy), unable=UNABLE, status=CANNOT_RUN)
    return _PROGRAM.format(
        questions="|".join(f'"{question}"' for question in _QUESTIONS),
        tool=shlex.quote(tool),
        command=shlex.join([_python(), "-I", "-S", "-c", start, role]),
    )


def _executable(path: Path, text: str) -> None:
    path.write_text(text, "utf-8", "surrogateescape")
    path.chmod(0o700)
