"""The Python interpreter of guests, and the files that it needs."""

from __future__ import annotations

import importlib.util
import os
import sys
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
"""The folder `grader`."""
PROGRAM = PACKAGE / "guest" / "main.py"
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
SETTINGS = (
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/alternatives",
    "/etc/localtime",
)
"""The few files in /etc that loader and compilers read."""


@cache
def own_files() -> tuple[Path, ...]:
    """Return the part of this package that a guest sees: `grader/guest` and the empty `grader/__init__.py`."""
    return (PACKAGE / "__init__.py", PACKAGE / "guest")


@cache
def folders() -> tuple[Path, ...]:
    """Return the folders outside the system's that interpreter, packages and torch are in.

    Links on the path to the interpreter are included as links. The folders may be anywhere, also below a home folder;
    nothing beside them is visible.
    """
    found = [Path(sys.prefix), Path(sys.base_prefix), Path(sys.exec_prefix)]
    found += [Path(entry).resolve() for entry in extra_path()]
    spec = importlib.util.find_spec("torch")
    if spec is not None and spec.origin:
        found.append(Path(spec.origin).resolve().parents[1])
    found += [link for link in _links(Path(sys.executable)) if not _below(link, found)]
    outside = {path for path in found if path.exists() and not _in_system(path)}
    return tuple(sorted(outside, key=lambda path: (len(path.parts), path)))


def _links(path: Path) -> list[Path]:
    """Return the path and every link on it."""
    steps = [path]
    while steps[-1].is_symlink() and len(steps) < 40:
        steps.append(Path(os.path.normpath(steps[-1].parent / steps[-1].readlink())))
    return steps


def _below(path: Path, folders: list[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


def _in_system(path: Path) -> bool:
    return path == Path("/") or any(path.is_relative_to(folder) for folder in SYSTEM)


@cache
def extra_path() -> tuple[str, ...]:
    """Package folders of this process that the interpreter would not find by itself."""
    own = (sys.prefix, sys.base_prefix, sys.exec_prefix)
    return tuple(
        entry
        for entry in sys.path
        if Path(entry).name in {"site-packages", "dist-packages"}
        and Path(entry).is_dir()
        and not any(Path(entry).is_relative_to(prefix) for prefix in own)
    )


def command(reader: int, writer: int) -> list[str]:
    """Return the command that starts the guest's program; the descriptors are inherited."""
    # -P, not -I: no script folder on the path, but our own PYTHON... variables take effect.
    return [sys.executable, "-P", "-s", "-B", "-u", str(PROGRAM), str(reader), str(writer)]


def environment(scratch: str, temporary: str) -> dict[str, str]:
    """Return the environment of a guest, without the variables of its job."""
    values = {
        "PATH": os.pathsep.join((*_program_folders(), "/usr/local/bin", "/usr/bin", "/bin")),
        "HOME": f"{scratch}/home",
        "TMPDIR": temporary,
        "LANG": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        "PYTHONUTF8": "1",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "TORCH_EXTENSIONS_DIR": f"{scratch}/extensions",
        "KERNEL_GRADER_REFUSALS": scratch,
        "TORCHINDUCTOR_CACHE_DIR": f"{scratch}/inductor",
        "TRITON_CACHE_DIR": f"{scratch}/extensions/triton",  # handed on with the extensions
        "CUDA_CACHE_PATH": f"{scratch}/cuda",
    }
    if extra_path():
        values["PYTHONPATH"] = os.pathsep.join(extra_path())
    return values


def _program_folders() -> tuple[str, ...]:
    """Where the interpreter is (its `ninja` with it)."""
    return (str(Path(sys.executable).parent),)
