"""Samples graded by several processes of this machine: a process runs Python on one core at a time.

This process grades as many at once as its threads can without waiting for one another; others like it
(`member`), each started when all before it are busy, grade the rest. One that dies loses no sample:
what it was doing is done again.
"""

from __future__ import annotations

import queue
from collections.abc import Callable
from dataclasses import dataclass, field

from grader.build.admission import ADMISSION
from grader.errors import GraderError
from grader.machine import cores
from grader.pipeline import GradingContext, review_key
from grader.pipeline.lost import lost, lost_evaluation
from grader.records import Assessment, Sample, Task
from grader.report.folder import RunFolder, Written
from grader.scheduling.grade_one import grade_one
from grader.scheduling.messages import Request, Response, Settings
from grader.scheduling.worker import LostError, WorkerProcess

AT_ONCE = 4
"""Samples that a process grades at once on the simulator: it takes up to 0.5 s of Python for one, and
three wait for compilers and guests."""
TRIES = 3
"""How often a sample is begun whose process dies."""
LOST = "The grader's own processes ended"


@dataclass(frozen=True, order=True)
class Place:
    """Where one sample is graded at a time: a line to a process."""

    number: int
    """The lowest that is free is taken: this process's first, and no process is started before it is needed."""
    process: WorkerProcess | None = field(compare=False)
    """None for this process."""
    line: int = field(compare=False)


@dataclass(frozen=True)
class WorkerPool:
    """The processes as workers of a schedule, see `schedule.Workers`, or of a training loop."""

    grading: GradingContext
    jobs: int
    _processes: tuple[WorkerProcess, ...]
    _idle: queue.PriorityQueue[Place]

    def key(self, sample: Sample) -> str:
        """Return the review's own address."""
        return review_key(self.grading, sample)

    def grade(self, sample: Sample, folder: RunFolder, stage: Callable[[str], None]) -> Written:
        """Grade one sample; a sample that three processes died of is `grader_error`."""
        response = self._said(Request(sample=sample, folder=str(folder.root)), stage)
        if response.written is not None:
            return response.written
        return folder.write(lost(sample, LOST, response.failure), self.key(sample))

    def assess(self, sample: Sample, task: Task | None) -> Assessment:
        """Judge one answer, without deeper diagnosis, repair and reports."""
        response = self._said(Request(sample=sample, task=task), lambda _stage: None)
        return response.assessment or Assessment(evaluation=lost_evaluation(LOST, response.failure))

    def finish(self) -> None:
        """End the other processes, and keep the store from growing without end."""
        self.close()
        self.grading.store.trim_sometimes()

    def close(self) -> None:
        """End the other processes, whatever they are doing."""
        for process in self._processes:
            process.close()

    def _said(self, request: Request, stage: Callable[[str], None]) -> Response:
        place = self._idle.get()
        try:
            return self._asked(place, request, stage)
        finally:
            self._idle.put(place)

    def _asked(self, place: Place, request: Request, stage: Callable[[str], None]) -> Response:
        if place.process is None:
            return grade_one(self.grading, request, stage)
        how = ""
        for _ in range(TRIES):
            try:
                response = place.process.ask(place.line, request, stage)
            except LostError as error:
                how = str(error)
            else:
                if response.failure:
                    raise GraderError(response.failure)
                return response
        return Response(failure=how)


def open_pool(grading: GradingContext) -> WorkerPool:
    """Return the worker pool of a grading: `options.jobs` samples at once, else one for each core."""
    jobs = grading.options.jobs or cores()
    at_once = _at_once(grading, jobs)
    sizes = [min(at_once, jobs - start) for start in range(0, jobs, at_once)]
    settings = Settings(options=grading.options, seed=grading.seed, processes=len(sizes))
    ADMISSION.share(len(sizes))
    processes = tuple(WorkerProcess(settings, size) for size in sizes[1:])
    idle: queue.PriorityQueue[Place] = queue.PriorityQueue()
    lines = (
        (process, line)
        for process, size in zip((None, *processes), sizes, strict=True)
        for line in range(size)
    )
    for number, (process, line) in enumerate(lines):
        idle.put(Place(number, process, line))
    return WorkerPool(grading, jobs, processes, idle)


def _at_once(grading: GradingContext, jobs: int) -> int:
    """Return how many samples one process grades at once."""
    device = grading.device
    if device is None:
        return 1  # nothing but Python
    return AT_ONCE if device.name == "sim" else jobs  # one process shares out a GPU
