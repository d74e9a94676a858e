"""The system-call filter: calls that no compiler, interpreter or GPU kernel needs are refused.

Built on the host through libseccomp (pyseccomp) and handed to the guest as a BPF program.
"""

from __future__ import annotations

import errno
import os
import socket
import tempfile
from collections.abc import Mapping
from functools import cache
from typing import Any

REFUSED: Mapping[str, str] = {
    "other processes": (
        "ptrace process_vm_readv process_vm_writev process_madvise kcmp pidfd_getfd"
    ),
    "the kernel": (
        "bpf perf_event_open userfaultfd io_uring_setup io_uring_enter io_uring_register "
        "kexec_load kexec_file_load init_module finit_module delete_module reboot syslog "
        "lookup_dcookie iopl ioperm vm86 vm86old modify_ldt nfsservctl uselib _sysctl"
    ),
    "keys, clocks, host name, accounting": (
        "keyctl add_key request_key settimeofday clock_settime clock_adjtime adjtimex "
        "stime sethostname setdomainname acct quotactl quotactl_fd swapon swapoff"
    ),
    "what outlives a process": "shmget msgget semget mq_open",
    "mounts and namespaces": (
        "mount umount umount2 pivot_root chroot move_mount open_tree fsopen fsconfig "
        "fsmount fspick mount_setattr setns unshare name_to_handle_at open_by_handle_at "
        "fanotify_init vhangup"
    ),
}
"""Refused system calls, by their purpose."""
NAMESPACES = (0x00020000, *(1 << bit for bit in range(25, 31)))
"""The CLONE_NEW... flags of clone(2)."""
TERMINAL_INJECTION = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX."""


@cache
def available() -> str:
    """Return "" where filters can be built, else the reason."""
    try:
        import pyseccomp  # noqa: F401
    except (ImportError, OSError, RuntimeError) as error:
        return f"a system-call filter: libseccomp can't be used ({error})"
    return ""


@cache
def program(*, sockets: bool, signals: bool, memory_files: bool = False) -> bytes:
    """Return the BPF program, or b"" where libseccomp is missing.

    `sockets` allows AF_UNIX sockets (needed where the network is a namespace of its own and a GPU
    driver wants one); `signals` allows kill(2) and similar calls (where other processes can't be reached anyway);
    `memory_files` allows memfd_create(2), whose memory is not counted for any process (GPU drivers use it).
    """
    if available():
        return b""
    import pyseccomp as sc

    rules = sc.SyscallFilter(defaction=sc.ALLOW)
    refused = sc.ERRNO(errno.EPERM)
    for name in " ".join(REFUSED.values()).split():
        _refuse(rules, refused, name)
    # glibc falls back to clone, whose flags a filter can see.
    _refuse(rules, sc.ERRNO(errno.ENOSYS), "clone3")
    for bit in NAMESPACES:
        _refuse(rules, refused, "clone", sc.Arg(0, sc.MASKED_EQ, bit, bit))
    for request in TERMINAL_INJECTION:
        _refuse(rules, refused, "ioctl", sc.Arg(1, sc.MASKED_EQ, 0xFFFFFFFF, request))
    if sockets:
        _refuse(rules, refused, "socket", sc.Arg(0, sc.NE, socket.AF_UNIX))
    else:
        _refuse(rules, refused, "socket")
    if not memory_files:
        _refuse(rules, refused, "memfd_create")
    if not signals:
        for name in ("kill", "tkill", "tgkill", "rt_sigqueueinfo", "pidfd_send_signal"):
            _refuse(rules, refused, name)
    return _export_filter(rules)


def _refuse(rules: Any, action: object, name: str, *arguments: object) -> None:
    """Add one rule; a call that this architecture does not have can't be made either."""
    import pyseccomp

    try:
        pyseccomp.resolve_syscall(pyseccomp.Arch.NATIVE, name)
    except ValueError:
        return
    rules.add_rule(action, name, *arguments)


def _export_filter(rules: Any) -> bytes:
    with tempfile.TemporaryFile() as file:
        rules.export_bpf(file)
        file.flush()
        file.seek(0, os.SEEK_SET)
        return file.read()
