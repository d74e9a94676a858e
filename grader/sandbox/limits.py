"""What one guest may use."""

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
    """Until the interpreter runs and torch is imported: the grader's own part."""
    cpu: float = 600.0
    """CPU time of each process."""
    memory: int = 8 * GIB
    """Bytes of private memory of each process, and resident bytes of all together."""
    claimed: int | None = None
    """Bytes of private memory that each process may ask for, where that is more than it may use."""
    processes: int = 256
    """Processes and threads."""
    file_size: int = 2 * GIB
    """Bytes of each file."""
    scratch: int = 4 * GIB
    """Bytes in the scratch folder."""
    output: int = GIB
    """Bytes that may come back in frames; set it by what the reference returns."""
    log: int = 2 * MIB
    """Bytes kept of what it prints: head and tail."""
    open_files: int = 1024


PATIENCE = 4.0
"""How many times longer a crowded machine may take at most."""


def crowding() -> float:
    """Return how many times longer things take now than on an idle machine, 1 to `PATIENCE`.

    From the load of the last minute: a submission is not charged with what else this machine does.
    The load is the whole machine's, and so are the cores, whatever share of them is this process's.
    """
    load, _, _ = os.getloadavg()
    return min(PATIENCE, max(1.0, load / (os.cpu_count() or 1)))
