"""Forbidden names that a built extension imports or redefines, found in its bytes.

A text can hide a name from rules (token pasting, macros), but the loader needs the whole name.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from pathlib import Path

from grader.records import Evidence, LinkedName
from grader.source.analysis.foreign_memory import IN_EXTENSION, RUNTIME

OURS = frozenset({"kgsim_blas_handle", "kgsim_capture_stream"})
"""Functions of the simulator's own that the stand-ins of torch's headers call."""
_ELF = b"\x7fELF"
# Names end with a zero byte in a library's table; one may be the end of another there. The C library
# has some of them under a second name, for itself.
_NAMES = re.compile(
    rb"(?:(kgsim_\w{1,60})|(?<![\w.])(?:_{1,2}(?:libc_)?)?("
    + "|".join(sorted(IN_EXTENSION)).encode()
    + rb"))\0"
)


_PARTS = (b"kgsim_", *(name.encode() + b"\0" for name in sorted(IN_EXTENSION)))
"""Every match of the pattern contains one of these; nearly every library has none, and this check is ten times
faster."""


_RUNTIME = re.compile(RUNTIME.encode())
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_DYNAMIC_SYMBOLS = 11
_LONGEST = 100
_OF_OTHERS = 0
"""The section of a symbol that is imported."""


def imports(files: Path) -> Iterator[Evidence]:
    """Yield evidence for each such name in the built extensions, once for each name."""
    names: set[str] = set()
    defined: set[str] = set()
    for path in files.rglob("*") if files.is_dir() else []:
        data = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        # Whatever its name: any file can be loaded.
        if data.startswith(_ELF) and b"cuda" in data:
            defined |= {one.decode() for one in _defined_symbols(data) if _RUNTIME.fullmatch(one)}
        if data.startswith(_ELF) and any(part in data for part in _PARTS):
            names |= {(one or another).decode() for one, another in _NAMES.findall(data)}
    for name in sorted(names - OURS):
        yield Evidence(
            kind="link",
            code="reaching-import",
            text=f"The built extension imports {name}.",
            details=LinkedName(name=name),
        )
    for name in sorted(defined):
        yield Evidence(
            kind="link",
            code="runtime-defined",
            text=f"The built extension defines {name}.",
            details=LinkedName(name=name),
        )


def _defined_symbols(data: bytes) -> Iterator[bytes]:
    """Yield the names that a 64-bit library exports; none where its table is broken."""
    try:
        (table,) = struct.unpack_from("<Q", data, 0x28)
        size, count = struct.unpack_from("<HH", data, 0x3A)
        sections = [_SECTION.unpack_from(data, table + size * i) for i in range(count)]
        found = next((one for one in sections if one[1] == _DYNAMIC_SYMBOLS), None)
        if found is not None:  # a library has one
            yield from _symbols(data, found[4], found[5], sections[found[6]][4])
    except (struct.error, IndexError):
        return


def _symbols(data: bytes, begin: int, size: int, names: int) -> Iterator[bytes]:
    """Yield the names that a table of symbols at `begin`, with its names' text at `names`, defines."""
    for at in range(begin, min(begin + size, len(data)), _SYMBOL.size):
        name, _, _, section, _, _ = _SYMBOL.unpack_from(data, at)
        if section != _OF_OTHERS:
            start = names + name
            yield data[start : start + _LONGEST].partition(b"\0")[0]
