"""Resource limits of one guest."""

from __future__ import annotations

import os
from dataclasses import dataclass

MIB = 1 << 20
GIB = 1 << 30


@dataclass(frozen=True)
class Limits:
    """Limits of one guest, for its whole process tree unless said otherwise; times in seconds."""

    wall: float = 120.0
    """From the start of the process to its last frame."""
    start: float = 60.0
    """Time until the interpreter runs and torch is imported: the grader's own part."""
    cpu: float = 600.0
    """CPU time of each process."""
    memory: int = 8 * GIB
    """Bytes of private memory of each process, and resident bytes of all together."""
    claimed: int | None = None
    """Bytes of private memory that each process may reserve, where that is more than it may use."""
    processes: int = 256
    """Processes and threads."""
    file_size: int = 2 * GIB
    """Bytes of each file."""
    scratch: int = 4 * GIB
    """Bytes in the scratch folder."""
    output: int = GIB
    """Most bytes of returned frames, set from the size of the reference's result."""
    log: int = 2 * MIB
    """Bytes kept of its output: head and tail."""
    open_files: int = 1024


PATIENCE = 4.0
"""Largest factor on time limits for a busy machine."""


def crowding() -> float:
    """Return the current slowdown against an idle machine, 1 to `PATIENCE`.

    Computed from the load of the last minute, so that a submission is not charged for other work on this machine. Both
    load and cores are the whole machine's, even if this process has only a share of the cores.
    """
    load, _, _ = os.getloadavg()
    return min(PATIENCE, max(1.0, load / (os.cpu_count() or 1)))
