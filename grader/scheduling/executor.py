"""The interface of executors, which grade the samples of a run: threads, processes (`pool`), or a Ray cluster."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Protocol

from grader.errors import GraderError
from grader.pipeline import GradingContext, review_key
from grader.pipeline.context import warm_up
from grader.pipeline.lost import lost_evaluation, lost_review
from grader.records import Assessment, Sample, Task
from grader.report.folder import RunFolder, Written
from grader.scheduling.messages import Request, Response

LOST = "The grader's own processes ended"


class Executor(Protocol):
    """Grades several samples at once; the scheduler (`run`) chooses them and writes the rows."""

    @property
    def jobs(self) -> int:
        """Return the number of samples graded at once."""

    def key(self, sample: Sample) -> str:
        """Return the content address of everything that the sample's review depends on."""

    def grade(self, sample: Sample, folder: RunFolder, stage: Callable[[str], None]) -> Written:
        """Grade one sample and write its review; a failure of the grader is `grader_error`."""

    def finish(self) -> None:
        """Clean up after a completed run."""


class LocalExecutor(ABC):
    """An executor on this machine, of a run or of a training loop; subclasses differ in where a request runs."""

    def __init__(self, grading: GradingContext, jobs: int) -> None:
        self.grading = grading
        self.jobs = jobs

    @abstractmethod
    def respond(self, request: Request, stage: Callable[[str], None]) -> Response:
        """Execute one request; called by at most `jobs` threads at once."""

    def key(self, sample: Sample) -> str:
        """Return the review's own address."""
        return review_key(self.grading, sample)

    def grade(self, sample: Sample, folder: RunFolder, stage: Callable[[str], None]) -> Written:
        """Grade one sample; a sample during which several processes died is `grader_error`."""
        response = self.respond(Request(sample=sample, folder=str(folder.root)), stage)
        if response.written is not None:
            return response.written
        return folder.write(lost_review(sample, LOST, response.failure), self.key(sample))

    def assess(self, sample: Sample, task: Task | None) -> Assessment:
        """Judge one answer, without deeper diagnosis, repair and reports."""
        response = self.respond(Request(sample=sample, task=task), lambda _stage: None)
        return response.assessment or Assessment(evaluation=lost_evaluation(LOST, response.failure))

    def prepare(self, task: Task) -> None:
        """Describe a task and run its reference; a failure is reported with the first answer."""
        with contextlib.suppress(GraderError):
            self.respond(Request(sample=None, task=task), lambda _stage: None)

    def warm_up(self) -> None:
        """Start the processes that the first samples need, in the background."""
        warm_up(self.grading)

    def finish(self) -> None:
        """End all started processes, and trim the store."""
        self.close()
        self.grading.store.trim_sometimes()

    def close(self) -> None:  # noqa: B027 - threads end with what they do
        """End all started processes immediately."""
