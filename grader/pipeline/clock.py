"""The clock of one sample: time of each stage, and failures in those after the verdict."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

Stage = Callable[[str], None]
"""Called with the name of each stage as it begins."""


class Clock:
    """Wall time by stage, in seconds; `trouble` holds a sentence for each failure of the grader's own."""

    def __init__(self, watch: Stage = lambda _stage: None) -> None:
        self.seconds: dict[str, float] = {}
        self.trouble: list[str] = []
        self._watch = watch

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count the time inside the context towards a stage."""
        self._watch(name)
        begin = time.monotonic()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.monotonic() - begin

    def beyond_verdict(self, what: str) -> BeyondVerdict:
        """Guard a step that the verdict does not need: a failure of the grader in it is noted, and the rest continues."""
        return BeyondVerdict(what, self.trouble)


@dataclass(frozen=True)
class BeyondVerdict:
    """Catches and notes failures inside."""

    what: str
    trouble: list[str]

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        """Note a failure of the grader; an interrupt passes through."""
        if not isinstance(error, Exception):
            return False
        failed = f"{self.what} failed in the grader: {type(error).__name__}: {error}"
        self.trouble.append(failed[:500])
        return True
