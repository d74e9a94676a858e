"""Progress of a grading: a line for each worker, counts, time left; in a log, a line now and then."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bar
from rich.table import Table

from grader.errors import GraderError
from grader.ingest import Skipped
from grader.records import Sample, Status
from grader.report.escape import clean
from grader.scheduling.run import Watcher

EVERY = 10.0
"""Seconds between two lines of a log, at least."""
ENOUGH = 3
"""Samples after which the time left can be estimated."""


WORTH_SAYING = 1.0
"""Seconds of preparation after which a log reports how long it took."""


class Progress:
    """A live display on a terminal; elsewhere a line at most once in `every` seconds."""

    def __init__(self, console: Console, *, quiet: bool, every: float = EVERY) -> None:
        self._shown = console.is_terminal and not quiet
        self._console = None if quiet or self._shown else console
        self._quiet = quiet
        self._every, self._noted = every, time.monotonic()
        self._began = self._noted
        self.total: int | None = None
        """Samples of the run; None until they are counted."""
        self.skipped_so_far = 0
        self._stages: dict[str, str] = {}
        self._preparing_since: float | None = None
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console,
        )
        self._task = self._bar.add_task("grading", total=0)
        self._live = Live(
            console=console, get_renderable=self._render, transient=True, refresh_per_second=8
        )

    def __enter__(self) -> Self:
        if self._shown:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._shown:
            self._live.stop()

    def preparing(self, what: str) -> None:
        """Show which one-time preparation of this machine is running; an empty text ends it."""
        with self._lock:
            self._stages["preparing"] = what
            if not what:
                self._stages.pop("preparing")
            began = self._preparing_since or time.monotonic()
            self._preparing_since = began if what else None
        took = time.monotonic() - began
        line = f"preparing: {what}" if what else f"prepared in {took:.0f} s"
        if self._console and (what or took >= WORTH_SAYING):
            self._console.print(line, markup=False, highlight=False)

    def name_skipped(self, what: Skipped) -> None:
        """List the files that were found and are not samples."""
        self.skipped_so_far += 1
        if not self._quiet:
            text = f"skipped {clean(what.origin)}: {clean(what.reason)}"
            self._bar.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def count(self, samples: Iterable[Sample]) -> None:
        """Count the samples in the background, while grading begins."""

        def counting() -> None:
            with contextlib.suppress(GraderError):  # the grading reports the error
                self.total = sum(1 for _ in samples)
            self._bar.update(self._task, total=self.total)

        threading.Thread(target=counting, name="counting", daemon=True).start()

    def count_samples(self, samples: Iterable[Sample]) -> Iterator[Sample]:
        """Yield the samples, counting them as they come unless they were counted before."""
        number = 0
        for number, sample in enumerate(samples, 1):
            if self.total is None:
                self._bar.update(self._task, total=number)
            yield sample
        self.total = number
        self._bar.update(self._task, total=number)

    def watcher(self) -> Watcher:
        """Return the callbacks that a run calls."""
        return Watcher(started=self._start_sample, stage=self._stage, finished=self._finish_sample)

    def _start_sample(self, sample: Sample) -> None:
        self._stage(sample, "start")

    def _stage(self, sample: Sample, stage: str) -> None:
        with self._lock:
            self._stages[sample.id] = stage

    def _finish_sample(self, sample: Sample, status: Status) -> None:
        with self._lock:
            self._stages.pop(sample.id, None)
            self._counts[status] += 1
            self._bar.advance(self._task)
            self._note()

    def _note(self) -> None:
        """Print a log line where no live display is possible, unless one was printed just now."""
        if self._console and time.monotonic() >= self._noted + self._every:
            self._noted = time.monotonic()
            line = f"{self._so_far()} graded{self._time_left()}: {self._tally()}"
            self._console.print(line, markup=False, highlight=False)

    def _so_far(self) -> str:
        done = self._counts.total()
        return f"{done} of {self.total}" if self.total else str(done)

    def _time_left(self) -> str:
        """Return an estimate of the time left, once enough samples are done."""
        done = self._counts.total()
        if not self.total or done < ENOUGH or done >= self.total:
            return ""
        seconds = (time.monotonic() - self._began) / done * (self.total - done)
        return f", about {max(round(seconds / 60), 1)} min left (estimated)"

    def _tally(self) -> str:
        return " · ".join(f"{count} {status}" for status, count in self._counts.most_common())

    def _render(self) -> Table:
        grid = Table.grid(padding=(0, 2))
        with self._lock:
            for name, stage in self._stages.items():
                grid.add_row(escape(name[:50]), escape(stage))
            counts = self._tally()
        total = "" if self.total is not None else "counting samples"
        grid.add_row(self._bar, counts or total)
        return grid
