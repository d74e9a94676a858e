"""What changes while a kernel is being written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Event

from watchfiles import Change, DefaultFilter, watch

from grader.errors import UsageError


class _Samples(DefaultFilter):
    """Everything but editors' own files, version control and what the grading itself writes."""

    def __init__(self, output: Path) -> None:
        super().__init__()
        self._output = output.resolve()

    def __call__(self, change: Change, path: str) -> bool:
        inside = Path(path).resolve().is_relative_to(self._output)
        return not inside and change != Change.deleted and super().__call__(change, path)


def saves(paths: Sequence[str], output: Path, stop: Event | None = None) -> Iterator[int]:
    """Yield the number of files saved, each time that some are, until `stop` is set.

    Saves within 0.3 seconds of each other come together. Raises UsageError for standard input,
    KeyboardInterrupt when interrupted.
    """
    if "-" in paths:
        raise UsageError("standard input can't be watched", "name a file or a folder")
    changes = watch(
        *paths, watch_filter=_Samples(output), debounce=300, stop_event=stop, raise_interrupt=True
    )
    for changed in changes:
        yield len({path for _, path in changed})
