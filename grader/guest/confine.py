"""A process drops its rights for the sandbox, before it sees any generated code.

Order matters: resource limits first, then the user id, Landlock, and last the system-call filter,
which may refuse the calls before it. Every child inherits them.
"""

from __future__ import annotations

import ctypes
import os
import resource
from collections.abc import Mapping
from typing import Any

from grader.guest import landlock

PR_SET_DUMPABLE = 4
PR_SET_KEEPCAPS = 8
PR_SET_SECCOMP = 22
PR_SET_NO_NEW_PRIVS = 38
PR_CAPBSET_DROP = 24
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_RAISE = 2
SECCOMP_MODE_FILTER = 2
CAPABILITY_VERSION = 0x20080522
CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 1, 2

_LIBC = ctypes.CDLL(None, use_errno=True)


class _FilterProgram(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]


def apply(spec: Mapping[str, Any], seccomp: bytes) -> None:
    """Confine this process; raises OSError where the kernel refuses a step.

    `spec` has `limits` (name of an RLIMIT to value), `identity` (see `become`, or None) and
    `landlock` (arguments of `landlock.restrict`, or empty); `drop` drops all capabilities where the user id stays the
    same. `seccomp` is a BPF program, or b"".
    """
    os.umask(0o077)
    for name, wanted in spec["limits"].items():
        number = getattr(resource, name)
        hard = resource.getrlimit(number)[1]
        value = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(number, (value, value))
    if spec["identity"] is not None:
        become(**spec["identity"])
    elif spec["drop"]:
        drop_capabilities()
    # A change of user id or capabilities hides /proc/self from the process itself.
    _prctl(PR_SET_DUMPABLE, 1)
    _prctl(PR_SET_NO_NEW_PRIVS, 1)
    if spec["landlock"]:
        landlock.restrict(**spec["landlock"])
    if seccomp:
        program = _FilterProgram(len(seccomp) // 8, seccomp)
        _prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program))


def become(uid: int, gid: int, *, read_all: bool = False) -> None:
    """Switch permanently to an unprivileged user id, which drops all capabilities.

    `read_all` keeps the capability to enter other users' folders (an interpreter below /root), only where Landlock
    limits the accessible files.
    """
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    _prctl(PR_SET_KEEPCAPS, int(read_all))
    os.setresuid(uid, uid, uid)
    if read_all and not _keep(CAP_DAC_READ_SEARCH):
        # Containers have only this one; Landlock limits it in the same way.
        _keep(CAP_DAC_OVERRIDE)


def drop_capabilities() -> None:
    """Drop every capability, including those that a new program could gain."""
    for capability in range(64):
        if _LIBC.prctl(PR_CAPBSET_DROP, *map(ctypes.c_ulong, (capability, 0, 0, 0))) != 0:
            break
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0)
    if _LIBC.capset(header, (ctypes.c_uint32 * 6)()) != 0:
        raise OSError(ctypes.get_errno(), "capset")


def _keep(capability: int) -> bool:
    """Drop every capability but one, which started programs inherit."""
    bit = 1 << capability
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0)
    data = (ctypes.c_uint32 * 6)(bit, bit, bit, 0, 0, 0)
    if _LIBC.capset(header, data) != 0:
        return False
    _prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability)
    return True


def _prctl(option: int, value: object, more: object = 0) -> None:
    long = ctypes.c_ulong
    first = long(value) if isinstance(value, int) else value
    second = long(more) if isinstance(more, int) else more
    if _LIBC.prctl(option, first, second, long(0), long(0)) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl {option}: {os.strerror(number)}")
