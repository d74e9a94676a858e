"""Many samples: a pool of workers, resume, progress, interrupt."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import TypeVar

from grader.pipeline import Workshop, review, review_key
from grader.records import Review, Sample
from grader.report.folder import RunFolder

T = TypeVar("T")
R = TypeVar("R")


@dataclass
class Watcher:
    """What a user interface may want to know; every method may be called from any worker."""

    started: Callable[[Sample], None] = lambda _sample: None
    stage: Callable[[Sample, str], None] = lambda _sample, _stage: None
    finished: Callable[[Review], None] = lambda _review: None


@dataclass
class Outcome:
    """What a run did."""

    samples: set[str] = field(default_factory=set)
    graded: int = 0
    resumed: int = 0


def run(
    samples: Iterable[Sample], workshop: Workshop, folder: RunFolder, watcher: Watcher
) -> Outcome:
    """Grade all samples that aren't in the folder already; at most two a worker are held in memory.

    Raises GraderError when the folder can't be written, KeyboardInterrupt when interrupted: what was
    finished until then is on disk.
    """
    outcome = Outcome()
    done = {} if workshop.options.fresh else folder.finished()
    todo = _unfinished(samples, workshop, done, outcome)
    workers = workshop.options.jobs or os.cpu_count() or 1
    stop = threading.Event()

    def work(sample: Sample) -> Review | None:
        if stop.is_set():
            return None
        watcher.started(sample)
        result = review(workshop, sample, lambda stage: watcher.stage(sample, stage))
        folder.add(result, review_key(workshop, sample))
        watcher.finished(result)
        return result

    pool = ThreadPoolExecutor(workers, thread_name_prefix="grader")
    try:
        for result in _bounded(pool, work, todo, 2 * workers):
            outcome.graded += result is not None
    except BaseException:
        stop.set()  # guests die with this process
        raise
    finally:
        pool.shutdown(wait=not stop.is_set(), cancel_futures=True)
    if outcome.graded:
        workshop.store.trim_sometimes()
    return outcome


def _unfinished(
    samples: Iterable[Sample], workshop: Workshop, done: dict[str, str], outcome: Outcome
) -> Iterator[Sample]:
    for sample in samples:
        outcome.samples.add(sample.id)
        if done.get(sample.id) == review_key(workshop, sample):
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
