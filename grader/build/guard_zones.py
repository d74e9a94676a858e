"""Compiles the allocator with guard zones, once for each compiler and source."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from grader.build.tool_queries import output
from grader.errors import GraderError
from grader.records import digest

SOURCE = Path(__file__).parent / "native" / "guard_zones.cpp"
NAME = "libkgz.so"
_FLAGS = ("-std=c++17", "-O2", "-fPIC", "-shared", "-fvisibility=hidden")


def build(cache: Path, gxx: Path) -> Path:
    """Return the path of the library below `cache`, compiling it first (one second) if missing.

    Raises:
        GraderError: the compiler refuses.

    """
    key = digest(SOURCE.read_bytes(), str(gxx), output(gxx, "--version"), *_FLAGS)[:24]
    library = cache / key / NAME
    if library.is_file():
        return library
    library.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=library.parent) as scratch:
        draft = Path(scratch) / NAME
        command = [str(gxx), *_FLAGS, str(SOURCE), "-o", str(draft), "-ldl"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            why = f"the allocator with guard zones does not compile: {done.stderr[-1000:]}"
            raise GraderError(why, "check the C++ compiler")
        draft.rename(library)
    return library
