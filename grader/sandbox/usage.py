"""Memory and disk that a guest's whole tree uses, seen from outside."""

from __future__ import annotations

import os
from pathlib import Path

from grader.guest.warden import tree
from grader.sandbox.form import Guest
from grader.sandbox.limits import MIB, Limits

PAGE = os.sysconf("SC_PAGE_SIZE")


class Usage:
    """Looks at one guest; rlimits hold for each process, this holds for all of them together."""

    def __init__(self, guest: Guest, limits: Limits) -> None:
        self._guest = guest
        self._limits = limits

    def excess(self) -> str:
        """Return what the guest uses too much of, in words; "" where it keeps to its limits."""
        # Fast, at the price of counting what forks share once for each of them.
        memory = sum(resident(pid) for root in self._guest.roots for pid in tree(root))
        if memory > self._limits.memory:
            return f"more than {self._limits.memory // MIB} MiB of memory"
        if self._guest.disk is not None and folder_size(self._guest.disk) > self._limits.scratch:
            return f"more than {self._limits.scratch // MIB} MiB of disk"
        return ""


def resident(pid: int) -> int:
    """Return private resident bytes of a process: resident less file-backed and shared."""
    try:
        _, all_pages, shared = Path(f"/proc/{pid}/statm").read_text().split()[:3]
    except (OSError, ValueError):
        return 0
    return (int(all_pages) - int(shared)) * PAGE


def folder_size(folder: Path) -> int:
    """Return bytes that the files below a folder take on disk; follows no link."""
    total = 0
    for root, names, files in os.walk(folder):
        for name in (*names, *files):
            try:
                total += os.lstat(os.path.join(root, name)).st_blocks * 512  # noqa: PTH118
            except OSError:
                continue
    return total
