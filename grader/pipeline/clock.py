"""Wall time by stage."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Stage = Callable[[str], None]
"""Told of each stage as it begins."""


class Clock:
    """Wall time by stage, in seconds."""

    def __init__(self, watch: Stage) -> None:
        self.seconds: dict[str, float] = {}
        self._watch = watch

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count what is done inside towards a stage."""
        self._watch(name)
        begin = time.monotonic()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.monotonic() - begin
