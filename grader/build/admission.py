"""Limit of concurrent builds: another one starts when there is memory for it, or when none runs."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

from grader.machine import free_memory

NEEDED = 3.0 * (1 << 30)
"""Memory of one build in bytes: nvcc with torch's whole headers (a quick build takes a third)."""
GROWING = 8.0
"""Seconds until a new build's memory use shows in the free memory."""
LOOK = 0.5


class Admission:
    """Admits builds as memory allows, at least one."""

    def __init__(
        self,
        free: Callable[[], float] = free_memory,
        needed: float = NEEDED,
        growing: float = GROWING,
    ) -> None:
        self._free = free
        self._needed = needed
        self._growing = growing
        self._changed = threading.Condition()
        self._started: list[float] = []
        self._shares = 1

    def share(self, processes: int) -> None:
        """Limit this process to an equal share of the free memory, among this many building processes."""
        self._shares = processes

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """Wait until there is memory for a build, and reserve it."""
        with self._changed:
            while not self._room():
                self._changed.wait(LOOK)
            started = time.monotonic()
            self._started.append(started)
        try:
            yield
        finally:
            with self._changed:
                self._started.remove(started)
                self._changed.notify_all()

    def _room(self) -> bool:
        now = time.monotonic()
        growing = sum(now - started < self._growing for started in self._started)
        return not self._started or self._free() / self._shares >= self._needed * (1 + growing)


ADMISSION = Admission()
"""The admission of this process."""
