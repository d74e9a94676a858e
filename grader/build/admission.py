"""How many compilers run at once: another starts while there is memory for it, or none runs."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

from grader.machine import free_memory

NEEDED = 3.0 * (1 << 30)
"""Bytes that one build may take: nvcc with torch's whole headers (a build of ours takes a third)."""
GROWING = 8.0
"""Seconds after which what a build takes shows in what is free."""
LOOK = 0.5


class Admission:
    """Lets builds in, one at least."""

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
        """Take at most an equal share of the free memory, among this many processes that build."""
        self._shares = processes

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """Wait until there is room, and hold it."""
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
"""That of this process."""
