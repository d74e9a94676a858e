"""Samples graded by several processes of this machine: a process runs Python on one core at a time.

This process grades as many at once as its threads can without waiting for one another; others like it
(`member`), each started when all before it are busy, grade the rest. One that dies loses no sample:
what it was doing is done again.
"""

from __future__ import annotations

import queue
from collections.abc import Callable
from dataclasses import dataclass

from grader.build.admission import ADMISSION
from grader.crew.hand import Hand, LostError
from grader.crew.orders import Order, Said, Settings
from grader.crew.work import carry_out
from grader.errors import GraderError
from grader.machine import cores
from grader.pipeline import Workshop, review_key
from grader.pipeline.lost import lost, lost_evaluation
from grader.records import Assessment, Sample, Task
from grader.report.folder import RunFolder, Written

AT_ONCE = 4
"""Samples that a process grades at once on the simulator: it takes up to 0.5 s of Python for one, and
three wait for compilers and guests."""
TRIES = 3
"""How often a sample is begun whose process dies."""
LOST = "The grader's own processes ended"

Place = tuple[Hand | None, int]
"""A process, None for this one, and the line to it; one sample is graded there at a time."""


@dataclass(frozen=True)
class Crew:
    """The processes as workers of a schedule, see `schedule.Workers`, or of a training loop."""

    workshop: Workshop
    jobs: int
    _hands: tuple[Hand, ...]
    _idle: queue.LifoQueue[Place]

    def key(self, sample: Sample) -> str:
        """Return the review's own address."""
        return review_key(self.workshop, sample)

    def grade(self, sample: Sample, folder: RunFolder, stage: Callable[[str], None]) -> Written:
        """Grade one sample; a sample that three processes died of is `grader_error`."""
        said = self._said(Order(sample=sample, folder=str(folder.root)), stage)
        if said.written is not None:
            return said.written
        return folder.write(lost(sample, LOST, said.failure), self.key(sample))

    def assess(self, sample: Sample, task: Task | None) -> Assessment:
        """Judge one answer, without deeper diagnosis, repair and reports."""
        said = self._said(Order(sample=sample, task=task), lambda _stage: None)
        return said.assessment or Assessment(evaluation=lost_evaluation(LOST, said.failure))

    def finish(self) -> None:
        """End the other processes, and keep the store from growing without end."""
        self.close()
        self.workshop.store.trim_sometimes()

    def close(self) -> None:
        """End the other processes, whatever they are doing."""
        for hand in self._hands:
            hand.close()

    def _said(self, order: Order, stage: Callable[[str], None]) -> Said:
        place = self._idle.get()
        try:
            return self._asked(place, order, stage)
        finally:
            self._idle.put(place)

    def _asked(self, place: Place, order: Order, stage: Callable[[str], None]) -> Said:
        hand, line = place
        if hand is None:
            return carry_out(self.workshop, order, stage)
        how = ""
        for _ in range(TRIES):
            try:
                said = hand.ask(line, order, stage)
            except LostError as error:
                how = str(error)
            else:
                if said.failure:
                    raise GraderError(said.failure)
                return said
        return Said(failure=how)


def gather(workshop: Workshop) -> Crew:
    """Return the crew of a workshop: `options.jobs` samples at once, else one for each core."""
    jobs = workshop.options.jobs or cores()
    at_once = _at_once(workshop, jobs)
    sizes = [min(at_once, jobs - start) for start in range(0, jobs, at_once)]
    settings = Settings(options=workshop.options, seed=workshop.seed, processes=len(sizes))
    ADMISSION.share(len(sizes))
    hands = tuple(Hand(settings, size) for size in sizes[1:])
    idle: queue.LifoQueue[Place] = queue.LifoQueue()
    for hand, size in reversed([*zip((None, *hands), sizes, strict=True)]):
        for line in range(size):
            idle.put((hand, line))
    return Crew(workshop, jobs, hands, idle)


def _at_once(workshop: Workshop, jobs: int) -> int:
    """Return how many samples one process grades at once."""
    device = workshop.device
    if device is None:
        return 1  # nothing but Python
    return AT_ONCE if device.name == "sim" else jobs  # one process shares out a GPU
