"""One host pass for cuda.cu and for the main.cpp that binds its functions: reading torch's header is most of what either takes.

The three compiler calls of a build share its folder. The call for main.cpp skips it where both texts allow it, and the
call for cuda.cu appends it to its own text. The link takes the binding from cuda.cuda.o, or compiles main.cpp after
all: where clang refused both together, or where a function's definition doesn't match the binding.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator
from pathlib import Path

from grader.build.driver import binding
from grader.build.driver.command import Command, parse
from grader.build.driver.comments import without_comments

CUDA, CPP = "cuda.cu", "main.cpp"
"""Names that `load_inline` gives its files."""
_NOTE = ".left"
"""Suffix of a file, beside an object that was skipped, with the call that compiles it."""
_BOUND = re.compile(r"wrap_pybind_function\((\w+)\)")
_DECLARED = re.compile(r"\b(\w+)\s*\(")
_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
_WORD = re.compile(r"\b[A-Za-z_]\w*")
_OWN_DEFINES = ("-DTORCH_", "-DPYBIND11_", "-D_GLIBCXX_USE_CXX11_ABI=1")


def leave_out(command: Command, text: str) -> bool:
    """Skip a C++ file, for the call for the CUDA file beside it; return whether that is possible."""
    source = Path(command.sources[0])
    beside = source.with_name(CUDA)
    own = all(define.startswith(_OWN_DEFINES) for define in command.defines)
    if source.name != CPP or not own or not beside.is_file():
        return False
    if not _may_be_one(beside.read_text("utf-8", "replace"), text):
        return False
    Path(f"{command.output}{_NOTE}").write_text(json.dumps(command.arguments), "utf-8")
    Path(str(command.output)).write_bytes(b"")
    return True


def binding_of(command: Command, text: str) -> str:
    """Return the binding code to append to a CUDA file; "" where it is compiled separately."""
    source = Path(command.sources[0])
    beside = source.with_name(CPP)
    if source.name != CUDA or not beside.is_file():
        return ""
    bound = beside.read_text("utf-8", "replace")
    if not _may_be_one(text, bound):
        return ""
    return f'\n#line 1 "{beside.resolve()}"\n{binding.with_docs_of_one_type(bound)}'


def defines_bound(obj: bytes, bound: str) -> bool:
    """Whether an object exports each bound function: otherwise a separate binding could not find it."""
    own = [*_defined_for_others(obj)]
    return all(
        any(name.startswith(f"_Z{len(function)}{function}") for name in own)
        for function in _BOUND.findall(bound)
    )


def left_over(command: Command) -> Command | None:
    """Return the call that compiles a skipped main.cpp, which a link needs; its note is deleted."""
    for name in [one for one in command.sources if Path(f"{one}{_NOTE}").is_file()]:
        note = Path(f"{name}{_NOTE}")
        call = parse(json.loads(note.read_text("utf-8")))
        note.unlink()
        if not _is_bound(Path(name).with_name("cuda.cuda.o")):
            return call
    return None


def linked_once(command: Command) -> list[str]:
    """Return the arguments of a link with one binding: without a skipped object, or with main.cpp's only.

    Own flags of main.cpp's call, which the call for the CUDA file doesn't see, require a separate compilation.
    """
    objects = (one for one in command.sources if one.endswith(".o") and Path(one).is_file())
    empty = {one for one in objects if not Path(one).stat().st_size}
    found = [one for one in command.arguments if one not in empty]
    twice = not empty and any(Path(one).name == "main.o" for one in command.sources)
    return [*found, "-Wl,-z,muldefs"] if twice and _has_bound_as_well() else found


def _has_bound_as_well() -> bool:
    """Whether the call for the CUDA file appended the binding; if the file has a module entry itself, there are two."""
    texts = [Path(name).read_text("utf-8", "replace") for name in (CUDA, CPP) if Path(name).is_file()]  # fmt: skip
    return len(texts) == len({CUDA, CPP}) and _may_be_one(*texts) and _is_bound(Path("cuda.cuda.o"))


def _is_bound(obj: Path) -> bool:
    """Whether an object defines a module's entry point."""
    return obj.is_file() and any(
        name.startswith("PyInit_") for name in _defined_for_others(obj.read_bytes())
    )


def _may_be_one(cuda: str, cpp: str) -> bool:
    """Whether two texts mean the same in one file as in two."""
    bare = without_comments(cpp)
    declared, bound = set(_DECLARED.findall(bare)), set(_BOUND.findall(bare))
    apart = "PYBIND11" in cuda or "PyInit" in cuda or set(_MACRO.findall(cuda)) & {*_WORD.findall(bare)}  # fmt: skip
    return bool(bound) and bound <= declared and not apart and binding.only_declares(cpp)


def _defined_for_others(obj: bytes) -> Iterator[str]:
    """Yield the names of an ELF object's strong global definitions."""
    (start,) = struct.unpack_from("<Q", obj, 40)
    size, count = struct.unpack_from("<HH", obj, 58)
    for k in range(count):
        kind, _, _, at, length, link = struct.unpack_from("<IQQQQI", obj, start + k * size + 4)
        if kind == 2:  # the table of symbols
            (names,) = struct.unpack_from("<Q", obj, start + link * size + 24)
            for entry in range(at, at + length, 24):
                name, info, _, section = struct.unpack_from("<IBBH", obj, entry)
                if info >> 4 == 1 and section:
                    yield obj[names + name : obj.index(b"\0", names + name)].decode("latin-1")
