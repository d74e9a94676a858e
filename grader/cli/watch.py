"""Files saved while a kernel is being written, for `--watch`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Event

from watchfiles import Change, DefaultFilter, watch

from grader.errors import UsageError


class _Samples(DefaultFilter):
    """Accepts all files but those of editors, version control and the grading itself."""

    def __init__(self, output: Path) -> None:
        super().__init__()
        self._output = output.resolve()

    def __call__(self, change: Change, path: str) -> bool:
        inside = Path(path).resolve().is_relative_to(self._output)
        return not inside and change != Change.deleted and super().__call__(change, path)


def saves(paths: Sequence[str], output: Path, stop: Event | None = None) -> Iterator[int]:
    """Yield the number of files at each save, until `stop` is set.

    Saves within 0.3 seconds of each other count as one. Raises UsageError for standard input,
    KeyboardInterrupt when interrupted.
    """
    if "-" in paths:
        raise UsageError("standard input can't be watched", "name a file or a folder")
    changes = watch(
        *paths, watch_filter=_Samples(output), debounce=300, stop_event=stop, raise_interrupt=True
    )
    for changed in changes:
        yield len({path for _, path in changed})
