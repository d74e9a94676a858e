"""The resources that processes may use: a container's share, not the host's size."""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import stat
import tempfile
from pathlib import Path

from platformdirs import user_cache_path

CGROUP = Path("/sys/fs/cgroup")
MEMINFO = Path("/proc/meminfo")


def python_path() -> str:
    """Return the PYTHONPATH under which another interpreter finds this package, installed or not."""
    root = str(Path(__file__).resolve().parent.parent)
    return os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))


def cores(cgroup: Path = CGROUP) -> int:
    """Return the cores that may be used: those of this process's affinity, within a container's quota."""
    allowed = len(os.sched_getaffinity(0))
    quota = _quota(cgroup)
    return max(1, allowed if quota is None else min(allowed, math.ceil(quota)))


def free_memory(cgroup: Path = CGROUP, meminfo: Path = MEMINFO) -> float:
    """Return the bytes available without swapping, within a container's limit; infinity where unknown."""
    rows = dict(line.split(":", 1) for line in _text(meminfo).splitlines() if ":" in line)
    kilobytes = rows.get("MemAvailable", "").split()[:1]
    free = float(kilobytes[0]) * 1024 if kilobytes else math.inf
    return min(free, _room(cgroup))


def return_large_blocks() -> None:
    """Make malloc return blocks of a megabyte and more to the system when they are freed.

    glibc raises its limit for that up to 32 MB by itself: arrays then fragment the heap, and a long-running process
    grows to many times its live data.
    """
    with contextlib.suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, 1 << 20)


_M_MMAP_THRESHOLD = -3


def cache_home() -> Path:
    """Return the user's cache folder, which may not exist yet.

    A user id without a home, or with one that can't be written (`docker run --user`, a read-only
    image), has it in the folder for temporary files, named by the id and owned by it alone.
    """
    spare = Path(tempfile.gettempdir()) / f"kernel-grader-cache-{os.geteuid()}"
    try:
        own = user_cache_path("kernel-grader")
    except RuntimeError:  # the id is not in the user database, and HOME is not set
        own = spare
    if _can_be_made(own) and own != spare:
        return own
    return spare if "XDG_CACHE_HOME" not in os.environ and _is_ours(spare) else own


def _can_be_made(folder: Path) -> bool:
    nearest = next((one for one in (folder, *folder.parents) if one.exists()), Path("/"))
    return nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK)


def _is_ours(folder: Path) -> bool:
    """Create the folder if missing; return whether only this user can write to it."""
    try:
        folder.mkdir(mode=0o755, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return False
    others = stat.S_IWGRP | stat.S_IWOTH
    return (
        stat.S_ISDIR(found.st_mode)
        and found.st_uid == os.geteuid()
        and not stat.S_IMODE(found.st_mode) & others
    )


def _quota(cgroup: Path) -> float | None:
    """Return a control group's CPU quota in cores; of version 2, else of version 1."""
    words = _text(cgroup / "cpu.max").split()
    if not words:
        names = ("cpu.cfs_quota_us", "cpu.cfs_period_us")
        words = [_text(cgroup / "cpu" / name).strip() for name in names]
    numbers = [float(word) for word in words if word.lstrip("-").isdecimal()]
    if len(numbers) != 2 or min(numbers) <= 0:
        return None
    return numbers[0] / numbers[1]


def _room(cgroup: Path) -> float:
    """Return the bytes left below a control group's limit; its page cache counts as free."""
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
