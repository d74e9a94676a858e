"""A process gives up what the sandbox refuses, before it sees any generated code.

Order matters: descriptors and resource limits first, then the user id, Landlock, and last the
system-call filter, which may refuse the calls before it. All of it is inherited by every child.
"""

from __future__ import annotations

import ctypes
import os
import resource
from collections.abc import Mapping
from typing import Any

PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
PR_SET_NO_NEW_PRIVS = 38
SECCOMP_MODE_FILTER = 2

_LIBC = ctypes.CDLL(None, use_errno=True)


class _FilterProgram(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]  # noqa: RUF012


def apply(spec: Mapping[str, Any], seccomp: bytes) -> None:
    """Confine this process; raises OSError where the kernel refuses a step.

    `spec` has `limits` (name of an RLIMIT to value), `identity` (`uid` and `gid` to become, or
    None) and `landlock` (see `restrict_files`; empty for none). `seccomp` is a BPF program, or b"".
    """
    os.umask(0o077)
    for name, value in spec["limits"].items():
        number = getattr(resource, name)
        hard = resource.getrlimit(number)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(number, (value, value))
    if spec["identity"] is not None:
        become(spec["identity"]["uid"], spec["identity"]["gid"])
    check(_LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    if seccomp:
        program = _FilterProgram(len(seccomp) // 8, seccomp)
        address = ctypes.byref(program)
        check(_LIBC.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, address, 0, 0), "seccomp")


def become(uid: int, gid: int) -> None:
    """Take an unprivileged user id for good; all capabilities go with it."""
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)


def check(result: int, what: str) -> None:
    """Raise OSError with errno where a system call failed."""
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
