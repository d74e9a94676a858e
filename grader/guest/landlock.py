"""Landlock: a process drops file access, TCP and signals for itself and its children.

By direct system calls (their numbers are the same on every architecture): the library knows the
file rights only, not those of newer kernels. Source: Documentation/userspace-api/landlock.rst.
"""

from __future__ import annotations

import ctypes
import os
import stat
from collections.abc import Iterable

ABI_SCOPE = 6
"""First version that restricts signals and abstract sockets."""

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_PATH_BENEATH = 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_TRUNCATE, _IOCTL_DEVICE = 1 << 14, 1 << 15
_FILE_RIGHTS = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEVICE
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_RIGHTS_BY_ABI = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}

_LIBC = ctypes.CDLL(None, use_errno=True)


class _Ruleset(ctypes.Structure):
    _fields_ = [
        ("files", ctypes.c_uint64),
        ("network", ctypes.c_uint64),
        ("scope", ctypes.c_uint64),
    ]


class _Rule(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("rights", ctypes.c_uint64), ("folder", ctypes.c_int32)]


def abi() -> int:
    """Return the kernel's version of Landlock; 0 where there is none."""
    return max(0, int(_LIBC.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), 1)))


def restrict(read: Iterable[str], write: Iterable[str], device: Iterable[str]) -> None:
    """Restrict this process to reading below `read`, all access below `write`, and use of `device` nodes.

    Missing paths are ignored. Raises OSError where the kernel has no Landlock.
    """
    version = abi()
    every = max(rights for since, rights in _RIGHTS_BY_ABI.items() if since <= max(version, 1))
    attributes = _Ruleset(every, 3 if version >= 4 else 0, 3 if version >= ABI_SCOPE else 0)
    size = 8 if version < 4 else 16 if version < ABI_SCOPE else 24
    ruleset = _call(_CREATE_RULESET, ctypes.byref(attributes), ctypes.c_size_t(size), 0)
    for paths, rights in ((read, _READ), (write, every), (device, every & ~_EXECUTE)):
        for path in paths:
            _allow(ruleset, path, rights & every)
    _call(_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            rights &= _FILE_RIGHTS
        rule = _Rule(rights, descriptor)
        _call(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0)
    finally:
        os.close(descriptor)


def _call(number: int, *arguments: object) -> int:
    result = int(_LIBC.syscall(number, *arguments))
    if result < 0:
        raise OSError(ctypes.get_errno(), f"Landlock: {os.strerror(ctypes.get_errno())}")
    return result
