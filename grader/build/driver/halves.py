"""Archives of the inline functions in the precompiled headers, compiled once instead of in each build.

A file compiled over a precompiled header holds calls of torch's inline functions and not the functions;
an extension is linked with archives of them. `main` has no archive of its own: the archives of the
headers for CUDA hold the same functions but for a few that no answer names. Where an extension lacks one of those, that
header's half is compiled for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from grader.build.driver.config import Config
from grader.build.driver.tools import run

EXPORTED = "exported.txt"
"""File in the prepared folder with the names that torch's libraries define, one in each line, sorted."""
_OF_HEADERS = re.compile(
    rb"_Z(?:T[VTIS]|GV)?Z?N?[VKRO]*(?:3c10|2at|5torch|6caffe2|8pybind11|9__gnu_cxx|S[tabsiod])(?!4cuda)"
)


def commands(config: Config, name: str, folder: Path) -> tuple[list[str], list[str]]:
    """Return the commands that compile a header's half into an archive in the folder."""
    target = [str(config.zig), "clang", "--target=x86_64-linux-gnu", "-fPIC", "-O0", "-w", "-c"]
    sections = ["-ffunction-sections", "-fdata-sections"]
    half = str(folder / f"{name}.o")
    compiled = [*target, *sections, config.path(f"{name}.pch"), "-o", half]
    return compiled, ["ar", "rcs", str(folder / f"{name}.a"), half]


def flags_that_link(config: Config, *more: Path) -> list[str]:
    """Return the flags that link the archives for undefined names; `more` are a build's own."""
    names = [Path(config.path(f"{name}.a")) for name in config.precompiled]
    archives = [*(path for path in names if path.is_file()), *more]
    hide = [f"-Wl,--exclude-libs,{path.name}" for path in archives]
    grouped = ["-Wl,--start-group", *map(str, archives), "-Wl,--end-group"]
    return [*grouped, *hide, "-Wl,--gc-sections"] if archives else []


def lacks(config: Config, names: Iterable[bytes]) -> list[bytes]:
    """Return which of an extension's undefined names a header of torch's defines, and no library.

    A name with a version after it has been found in a library by the linker.
    """
    asked = [name for name in names if _OF_HEADERS.match(name) and b"@" not in name]
    if not asked:
        return []
    exported = Path(config.path(EXPORTED)).read_bytes()
    return [name for name in asked if not _among(exported, name)]


def undefined_symbols(extension: Path) -> list[bytes]:
    """Return the names that an extension expects from libraries and from Python."""
    said = run(["nm", "-D", "--undefined-only", str(extension)])
    return [line.split()[-1].encode() for line in said.text.splitlines() if line.strip()]


def _among(lines: bytes, name: bytes) -> bool:
    """Whether a name is one of these sorted lines."""
    low, high = 0, len(lines)
    while low < high:
        start = lines.rfind(b"\n", 0, (low + high) // 2) + 1
        end = lines.find(b"\n", start) % (len(lines) + 1)
        if (line := lines[start:end]) == name:
            return True
        low, high = (end + 1, high) if line < name else (low, start)
    return False
