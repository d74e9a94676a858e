"""What a built extension asks of the process that loads it, told from its bytes.

A text can spell a name so that no rule finds it (token pasting, macros); the loader needs it whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from grader.records import Evidence

OURS = frozenset({"kgsim_blas_handle"})
"""Functions of the simulator's own that the stand-ins of torch's headers call."""
REACHING = (
    "dlmopen", "mprotect", "pkey_mprotect", "mremap", "remap_file_pages", "ptrace", "process_vm_readv",
    "process_vm_writev", "sigaction", "sysv_signal", "bsd_signal", "prctl", "arch_prctl", "syscall",
    "memfd_create",
)  # fmt: skip
"""Functions of the C library that no kernel's host code has a use for.

Not `dlsym`: CUB's tracing calls it, and what it is asked for stands in the same bytes.
"""
_ELF = b"\x7fELF"
# Names end with a zero byte in a library's table; one may be the end of another there. The C library
# has some of them under a second name, for itself.
_NAMES = re.compile(
    rb"(?:(kgsim_\w{1,60})|(?<![\w.])(?:_{1,2}(?:libc_)?)?("
    + "|".join(REACHING).encode()
    + rb"))\0"
)


def imports(files: Path) -> Iterator[Evidence]:
    """Yield a finding's evidence for each such name in the built extensions, once for each."""
    names: set[str] = set()
    for path in files.rglob("*") if files.is_dir() else []:
        data = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        if data.startswith(_ELF):  # whatever it is called: any file can be loaded
            names |= {(one or another).decode() for one, another in _NAMES.findall(data)}
    for name in sorted(names - OURS):
        yield Evidence(
            kind="link",
            code="reaching-import",
            text=f"The built extension imports {name}.",
            data={"name": name},
        )
