"""Who grades the samples of a run: threads of this process (`threads`), processes (`pool`), or a Ray cluster."""

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
    """Grades samples, several at once; the scheduler (`run`) says which, and writes the rows."""

    @property
    def jobs(self) -> int:
        """Return how many samples are graded at once."""

    def key(self, sample: Sample) -> str:
        """Return the content address of all that the sample's review depends on."""

    def grade(self, sample: Sample, folder: RunFolder, stage: Callable[[str], None]) -> Written:
        """Grade one sample and write its review; whatever fails on our side is `grader_error`."""

    def finish(self) -> None:
        """Clear up after a run that came to its end."""


class LocalExecutor(ABC):
    """An executor on this machine, of a run or of a training loop; its forms differ in who carries out a request."""

    def __init__(self, grading: GradingContext, jobs: int) -> None:
        self.grading = grading
        self.jobs = jobs

    @abstractmethod
    def respond(self, request: Request, stage: Callable[[str], None]) -> Response:
        """Carry out one request; called by at most `jobs` threads at once."""

    def key(self, sample: Sample) -> str:
        """Return the review's own address."""
        return review_key(self.grading, sample)

    def grade(self, sample: Sample, folder: RunFolder, stage: Callable[[str], None]) -> Written:
        """Grade one sample; a sample that several processes died of is `grader_error`."""
        response = self.respond(Request(sample=sample, folder=str(folder.root)), stage)
        if response.written is not None:
            return response.written
        return folder.write(lost_review(sample, LOST, response.failure), self.key(sample))

    def assess(self, sample: Sample, task: Task | None) -> Assessment:
        """Judge one answer, without deeper diagnosis, repair and reports."""
        response = self.respond(Request(sample=sample, task=task), lambda _stage: None)
        return response.assessment or Assessment(evaluation=lost_evaluation(LOST, response.failure))

    def prepare(self, task: Task) -> None:
        """Describe a task and ask its reference; what fails is told to the first answer that comes."""
        with contextlib.suppress(GraderError):
            self.respond(Request(sample=None, task=task), lambda _stage: None)

    def warm_up(self) -> None:
        """Begin to start what the first samples need."""
        warm_up(self.grading)

    def finish(self) -> None:
        """End what was started, and keep the store from growing without end."""
        self.close()
        self.grading.store.trim_sometimes()

    def close(self) -> None:  # noqa: B027 - threads end with what they do
        """End what was started, whatever it is doing."""
