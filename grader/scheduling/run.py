"""Many samples: a pool of workers, resume, progress, interrupt."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from grader.records import Sample, Status
from grader.report.folder import RunFolder, Written

T = TypeVar("T")
R = TypeVar("R")


@dataclass
class Watcher:
    """What a user interface may want to know; every method may be called from any worker."""

    started: Callable[[Sample], None] = lambda _sample: None
    stage: Callable[[Sample, str], None] = lambda _sample, _stage: None
    finished: Callable[[Sample, Status], None] = lambda _sample, _status: None


class Workers(Protocol):
    """Who grades: processes of this machine (`pool`), or the nodes of a cluster."""

    @property
    def jobs(self) -> int:
        """Return how many samples are graded at once."""

    def key(self, sample: Sample) -> str:
        """Return the content address of all that the sample's review depends on."""

    def grade(self, sample: Sample, folder: RunFolder, stage: Callable[[str], None]) -> Written:
        """Grade one sample and write its review; whatever fails on our side is `grader_error`."""

    def finish(self) -> None:
        """Clear up after a run that came to its end."""


@dataclass
class Outcome:
    """What a run did."""

    samples: set[str] = field(default_factory=set)
    graded: int = 0
    resumed: int = 0


def run(
    samples: Iterable[Sample],
    workers: Workers,
    folder: RunFolder,
    watcher: Watcher,
    *,
    fresh: bool = False,
) -> Outcome:
    """Grade all samples that aren't in the folder already; at most two a worker are held in memory.

    `fresh` grades those in the folder as well.

    Raises GraderError when the folder can't be written, KeyboardInterrupt when interrupted: what was
    finished until then is on disk.
    """
    outcome = Outcome()
    done = {} if fresh else folder.finished()
    todo = _unfinished(samples, workers, done, outcome)
    stop = threading.Event()

    def work(sample: Sample) -> bool:
        if stop.is_set():
            return False
        watcher.started(sample)
        written = workers.grade(sample, folder, lambda stage: watcher.stage(sample, stage))
        folder.append(written)
        watcher.finished(sample, written.status)
        return True

    pool = ThreadPoolExecutor(workers.jobs, thread_name_prefix="grader")
    try:
        outcome.graded = sum(_bounded(pool, work, todo, 2 * workers.jobs))
    except BaseException:
        stop.set()  # guests die with this process
        raise
    finally:
        pool.shutdown(wait=not stop.is_set(), cancel_futures=True)
    workers.finish()
    return outcome


def _unfinished(
    samples: Iterable[Sample], workers: Workers, done: dict[str, str], outcome: Outcome
) -> Iterator[Sample]:
    for sample in samples:
        outcome.samples.add(sample.id)
        if done.get(sample.id) == workers.key(sample):
            outcome.resumed += 1
        else:
            yield sample


def _bounded(
    pool: ThreadPoolExecutor, work: Callable[[T], R], items: Iterator[T], limit: int
) -> Iterator[R]:
    running: set[Future[R]] = set()
    for item in items:
        running.add(pool.submit(work, item))
        if len(running) >= limit:
            ready, running = wait(running, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in ready)
    while running:
        ready, running = wait(running, return_when=FIRST_COMPLETED)
        yield from (future.result() for future in ready)
