"""Samples graded by several processes of this machine: a process runs Python on one core at a time.

This process grades as many samples at once as its threads can without blocking each other; worker processes
(`worker_process`), each started when all earlier ones are busy, grade the rest. A process that dies loses no sample:
its work is repeated.
"""

from __future__ import annotations

import queue
from collections.abc import Callable, Sequence

from grader.build.admission import ADMISSION
from grader.errors import GraderError
from grader.machine import cores
from grader.pipeline import GradingContext
from grader.scheduling.executor import LocalExecutor
from grader.scheduling.grade_one import grade_one
from grader.scheduling.messages import Request, Response, Settings
from grader.scheduling.threads import ThreadExecutor
from grader.scheduling.worker import LostError, WorkerProcess

AT_ONCE = 4
"""Samples that a process grades at once on the simulator: each needs up to 0.5 s of Python, while three wait for
compilers and guests."""
TRIES = 3
"""Attempts at a sample whose process dies."""

Place = tuple[WorkerProcess | None, int]
"""A process (None for this one) and a connection to it, which grades one sample at a time."""


class WorkerPool(LocalExecutor):
    """Executes requests in this process and in worker processes."""

    def __init__(self, grading: GradingContext, jobs: int, sizes: Sequence[int]) -> None:
        super().__init__(grading, jobs)
        settings = Settings(options=grading.options, seed=grading.seed, processes=len(sizes))
        ADMISSION.share(len(sizes))
        self._processes = tuple(WorkerProcess(settings, size) for size in sizes[1:])
        self._idle: queue.LifoQueue[Place] = queue.LifoQueue()
        for process, size in reversed([*zip((None, *self._processes), sizes, strict=True)]):
            for line in range(size):
                self._idle.put((process, line))

    def respond(self, request: Request, stage: Callable[[str], None]) -> Response:
        """Execute the request in a free process; if the process dies, retry up to `TRIES` times."""
        place = self._idle.get()
        try:
            return self._ask_worker(place, request, stage)
        finally:
            self._idle.put(place)

    def warm_up(self) -> None:
        """Start all processes in the background; they warm up by themselves."""
        super().warm_up()
        for process in self._processes:
            process.start()

    def close(self) -> None:
        """End the other processes immediately."""
        for process in self._processes:
            process.close()

    def _ask_worker(self, place: Place, request: Request, stage: Callable[[str], None]) -> Response:
        process, line = place
        if process is None:
            return grade_one(self.grading, request, stage)
        how = ""
        for _ in range(TRIES):
            try:
                response = process.ask(line, request, stage)
            except LostError as error:
                how = str(error)
            else:
                if response.failure:
                    raise GraderError(response.failure)
                return response
        return Response(failure=how)


def open_local(grading: GradingContext) -> LocalExecutor:
    """Return the executor for this machine: `options.jobs` samples at once, by default enough to keep it busy."""
    jobs = grading.options.jobs or _usual_jobs(grading)
    at_once = _at_once(grading, jobs)
    sizes = [min(at_once, jobs - start) for start in range(0, jobs, at_once)]
    return ThreadExecutor(grading, jobs) if len(sizes) == 1 else WorkerPool(grading, jobs, sizes)


def _usual_jobs(grading: GradingContext) -> int:
    """Return one for each core, and one more where few simulate: each waits for its guests part of the time."""
    waits = grading.device is not None and grading.device.name == "sim" and cores() < AT_ONCE
    return cores() + waits


def _at_once(grading: GradingContext, jobs: int) -> int:
    """Return the number of samples that one process grades at once."""
    device = grading.device
    if device is None:
        return 1  # only Python work
    return AT_ONCE if device.name == "sim" else jobs  # one process schedules the GPU
