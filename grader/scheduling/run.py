"""The scheduler: many samples through one executor (`executor`), with resume, progress, interrupt."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from grader.records import Sample, Status
from grader.report.folder import RunFolder

if TYPE_CHECKING:  # imported only for types, so that a watcher needs no pipeline
    from grader.scheduling.executor import Executor

T = TypeVar("T")
R = TypeVar("R")


@dataclass
class Watcher:
    """Callbacks for a user interface; every method may be called from any worker."""

    started: Callable[[Sample], None] = lambda _sample: None
    stage: Callable[[Sample, str], None] = lambda _sample, _stage: None
    finished: Callable[[Sample, Status], None] = lambda _sample, _status: None


@dataclass
class Outcome:
    """The result of a run."""

    samples: set[str] = field(default_factory=set)
    graded: int = 0
    resumed: int = 0


def run(
    samples: Iterable[Sample],
    executor: Executor,
    folder: RunFolder,
    watcher: Watcher,
    *,
    fresh: bool = False,
) -> Outcome:
    """Grade all samples that aren't in the folder already; at most two for each job are held in memory.

    `fresh` grades those in the folder as well.

    Raises GraderError when the folder can't be written, KeyboardInterrupt when interrupted: finished samples are on
    disk.
    """
    outcome = Outcome()
    done = {} if fresh else folder.finished_samples()
    todo = _unfinished_samples(samples, executor, done, outcome)
    stop = threading.Event()

    def work(sample: Sample) -> bool:
        if stop.is_set():
            return False
        watcher.started(sample)
        written = executor.grade(sample, folder, lambda stage: watcher.stage(sample, stage))
        folder.append(written)
        watcher.finished(sample, written.status)
        return True

    pool = ThreadPoolExecutor(executor.jobs, thread_name_prefix="grader")
    try:
        outcome.graded = sum(_map_bounded(pool, work, todo, 2 * executor.jobs))
    except BaseException:
        stop.set()  # guests die with this process
        raise
    finally:
        pool.shutdown(wait=not stop.is_set(), cancel_futures=True)
    executor.finish()
    return outcome


def _unfinished_samples(
    samples: Iterable[Sample], executor: Executor, done: dict[str, str], outcome: Outcome
) -> Iterator[Sample]:
    for sample in samples:
        outcome.samples.add(sample.id)
        if done.get(sample.id) == executor.key(sample):
            outcome.resumed += 1
        else:
            yield sample


def _map_bounded(
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
