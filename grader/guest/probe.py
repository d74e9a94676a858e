"""Tests of a sandbox form's promises from inside, before it is used."""

from __future__ import annotations

import ctypes
import errno
import os
import socket
from collections.abc import Sequence

_LIBC = ctypes.CDLL(None, use_errno=True)
_PTRACE_ATTACH = 16


def broken_promises(readable: Sequence[str], writable: Sequence[str]) -> list[str]:
    """Return, in words, each promise that is broken for the calling process.

    `readable` are host files that must not be readable, `writable` folders that must not be writable.
    """
    found = [f"{path} can be read" for path in readable if _can_read(path)]
    found += [f"{path} can be written" for path in writable if _can_write(path)]
    if _can_connect():
        found.append("the network can be reached")
    if _can_signal(os.getppid()):
        found.append("a process outside can be signalled")
    if _can_trace(os.getppid()):
        found.append("a process outside can be traced")
    return found


def _can_read(path: str) -> bool:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - no more than the call itself
            return bool(file.read(1))
    except OSError:
        return False


def _can_write(folder: str) -> bool:
    path = os.path.join(folder, f".kernel-grader-probe-{os.getpid()}")  # noqa: PTH118
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError:
        return False
    os.unlink(path)  # noqa: PTH108
    return True


def _can_connect() -> bool:
    """Whether there is a network route out of the sandbox; nothing is sent."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect(("192.0.2.1", 9))
    except OSError:
        return False
    return True


def _can_signal(pid: int) -> bool:
    if pid <= 1:
        return False
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def _can_trace(pid: int) -> bool:
    if pid <= 1:
        return False
    result = _LIBC.ptrace(_PTRACE_ATTACH, pid, None, None)
    return bool(result == 0) or ctypes.get_errno() not in {errno.EPERM, errno.ESRCH}
