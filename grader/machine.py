"""What this machine lets its processes use: a container's share counts, not the host's size."""

from __future__ import annotations

import math
import os
from pathlib import Path

CGROUP = Path("/sys/fs/cgroup")
MEMINFO = Path("/proc/meminfo")


def cores(cgroup: Path = CGROUP) -> int:
    """Return the cores that may be used: those of this process's affinity, within a container's quota."""
    allowed = len(os.sched_getaffinity(0))
    quota = _quota(cgroup)
    return max(1, allowed if quota is None else min(allowed, math.ceil(quota)))


def free_memory(cgroup: Path = CGROUP, meminfo: Path = MEMINFO) -> float:
    """Return the bytes that can be had without swapping, within a container's limit; else infinity."""
    rows = dict(line.split(":", 1) for line in _text(meminfo).splitlines() if ":" in line)
    kilobytes = rows.get("MemAvailable", "").split()[:1]
    free = float(kilobytes[0]) * 1024 if kilobytes else math.inf
    return min(free, _room(cgroup))


def _quota(cgroup: Path) -> float | None:
    """Return the cores' worth of time that a control group grants; of version 2, else of version 1."""
    words = _text(cgroup / "cpu.max").split()
    if not words:
        names = ("cpu.cfs_quota_us", "cpu.cfs_period_us")
        words = [_text(cgroup / "cpu" / name).strip() for name in names]
    numbers = [float(word) for word in words if word.lstrip("-").isdecimal()]
    if len(numbers) != 2 or min(numbers) <= 0:
        return None
    return numbers[0] / numbers[1]


def _room(cgroup: Path) -> float:
    """Return the bytes left below a control group's limit; what it only caches can be had."""
    for folder, limit, used, cached in (
        (cgroup, "memory.max", "memory.current", "inactive_file"),
        (
            cgroup / "memory",
            "memory.limit_in_bytes",
            "memory.usage_in_bytes",
            "total_inactive_file",
        ),
    ):
        most, now = _text(folder / limit).strip(), _text(folder / used).strip()
        if most.isdecimal() and now.isdecimal():
            rows = [line.split() for line in _text(folder / "memory.stat").splitlines()]
            idle = next((float(row[1]) for row in rows if row[:1] == [cached]), 0.0)
            return max(float(most) - float(now) + idle, 0.0)
    return math.inf


def _text(path: Path) -> str:
    try:
        return path.read_text("ascii", "replace")
    except OSError:
        return ""
