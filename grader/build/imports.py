"""What a built extension asks of the process that loads it, told from its bytes.

A text can spell a name so that no rule finds it (token pasting, macros); the loader needs it whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from grader.records import Evidence
from grader.rules.reaching import IN_EXTENSION

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
"""One of these is in whatever the pattern finds; nearly every library has none, which is told ten times sooner."""


def imports(files: Path) -> Iterator[Evidence]:
    """Yield a finding's evidence for each such name in the built extensions, once for each."""
    names: set[str] = set()
    for path in files.rglob("*") if files.is_dir() else []:
        data = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        # Whatever it is called: any file can be loaded.
        if data.startswith(_ELF) and any(part in data for part in _PARTS):
            names |= {(one or another).decode() for one, another in _NAMES.findall(data)}
    for name in sorted(names - OURS):
        yield Evidence(
            kind="link",
            code="reaching-import",
            text=f"The built extension imports {name}.",
            data={"name": name},
        )
