"""Memory and disk that a guest's whole tree uses, seen from outside."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from grader.guest.reaper import peek, tree
from grader.sandbox.form import Guest
from grader.sandbox.limits import MIB, Limits

DISK_EVERY = 4
"""Checks of memory for each check of disk."""
COUNTING = 3.0
"""Seconds."""
_RESIDENT = re.compile(rb"^Rss(?:Anon|Shmem):\s*(\d+) kB", re.MULTILINE)
_ALL = re.compile(rb"^VmRSS:\s*(\d+) kB", re.MULTILINE)


VMSTAT = Path("/proc/vmstat")


def memory_kills() -> int:
    """Return the number of processes that the kernel killed for lack of memory; 0 where unknown."""
    try:
        found = re.search(rb"^oom_kill (\d+)$", VMSTAT.read_bytes(), re.MULTILINE)
    except OSError:
        return 0
    return int(found[1]) if found else 0


class Usage:
    """Checks one guest's totals; rlimits apply to each process, this to all of them together."""

    def __init__(self, guest: Guest, limits: Limits) -> None:
        self._guest = guest
        self._limits = limits
        self._looks = 0

    def excess(self) -> str:
        """Return the limit that the guest exceeds, in words; "" where it exceeds none."""
        # Fast, but counts memory shared by forks once for each of them.
        memory = sum(resident(pid) for root in self._guest.roots for pid in tree(root))
        if memory > self._limits.memory:
            return f"more than {self._limits.memory // MIB} MiB of memory"
        if self._disk_is_full():
            return f"more than {self._limits.scratch // MIB} MiB of disk"
        return ""

    def _disk_is_full(self) -> bool:
        self._looks += 1
        if self._guest.disk is None or self._looks % DISK_EVERY:
            return False
        return folder_size(self._guest.disk) > self._limits.scratch


def resident(pid: int) -> int:
    """Return a process's resident bytes that are not file-backed: anonymous and shared memory."""
    try:
        status = peek(f"/proc/{pid}/status")
    except OSError:
        return 0
    # Some containers' kernels report only the total.
    found = _RESIDENT.findall(status) or _ALL.findall(status)
    return sum(int(kibibytes) << 10 for kibibytes in found)


def folder_size(folder: Path) -> int:
    """Return bytes that the files below a folder take on disk; at any depth, following no link.

    A tree that takes more than a few seconds to count is as good as too large.
    """
    command = ["du", "-sxB1", "--", str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=COUNTING, check=False)
    except subprocess.TimeoutExpired:
        return 1 << 62
    first = done.stdout.split()[:1]
    return int(first[0]) if first else 0
