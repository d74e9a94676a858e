"""The code that the precompiled headers bring: compiled once, in the place of once a build.

A file compiled over a precompiled header holds calls of torch's inline functions and not the functions;
an extension is linked with archives of them. `main` has no archive of its own: the archives of the
headers for CUDA hold the same functions but for a few that no answer names. Where an extension does
lack one after all, that half is compiled for it.
"""

from __future__ import annotations

import re
from pathlib import Path

from grader.build.driver.config import Config

TOLERANT = ["-Wl,-z,defs", "-Wl,--warn-unresolved-symbols", "-Wl,--no-demangle"]
"""Has lld say what is defined nowhere, which an extension may have: Python's own functions, say."""
_UNRESOLVED = re.compile(r"undefined symbol: (\S+)")
_OF_HEADERS = re.compile(
    r"_Z(?:T[VTIS]|GV)?Z?N?[VKRO]*(?:3c10|2at|5torch|6caffe2|8pybind11|9__gnu_cxx|S[tabsiod])(?!4cuda)"
)
_NOTE = re.compile(r"ld\.lld: warning: undefined symbol|>>> ")


def commands(config: Config, name: str, folder: Path) -> tuple[list[str], list[str]]:
    """Return the commands that compile a header's half into an archive in the folder."""
    target = [str(config.zig), "clang", "--target=x86_64-linux-gnu", "-fPIC", "-O0", "-w", "-c"]
    sections = ["-ffunction-sections", "-fdata-sections"]
    half = str(folder / f"{name}.o")
    compiled = [*target, *sections, config.path(f"{name}.pch"), "-o", half]
    return compiled, ["ar", "rcs", str(folder / f"{name}.a"), half]


def linked(config: Config, *more: Path) -> list[str]:
    """Return the flags that link the archives, for whatever the objects lack; `more` are a build's own."""
    names = [Path(config.path(f"{name}.a")) for name in config.precompiled]
    archives = [*(path for path in names if path.is_file()), *more]
    hide = [f"-Wl,--exclude-libs,{path.name}" for path in archives]
    grouped = ["-Wl,--start-group", *map(str, archives), "-Wl,--end-group"]
    return [*grouped, *hide, "-Wl,--gc-sections"] if archives else []


def lacks(said: str) -> bool:
    """Whether the linker, asked to be tolerant, misses something that a header of torch's may define."""
    return any(_OF_HEADERS.match(name) for name in _UNRESOLVED.findall(said))


def without_notes(said: str) -> str:
    """Return what the linker said, without what it was only asked to note."""
    return "".join(f"{line}\n" for line in said.splitlines() if not _NOTE.match(line))
