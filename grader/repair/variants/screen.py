"""Running a woven program: one guest, one call for each variant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from grader import judge
from grader.devices.guests import GuestDevice
from grader.judge import Group, References
from grader.records import Build, Evaluation, Submission, Task, Workload
from grader.sandbox import GuestReply, GuestWorkload
from grader.source import Source, parse

RESTARTS = 12
"""Guests after the first: a variant that kills its process takes no other with it."""
SECONDS = 2.0
"""Seconds of simulation for one variant on one workload."""
WALL = 60.0


@dataclass(frozen=True)
class Outcome:
    """How far one variant got on one workload."""

    wrong: float
    """Share of wrong elements: 0 where it is right, 1 where it did not come back."""
    clean: bool = False
    """Whether it ran to its end, and the simulator saw nothing that a right program doesn't do."""

    @property
    def right(self) -> bool:
        """Right, and nothing against it."""
        return self.wrong == 0 and self.clean


@dataclass(frozen=True)
class Screen:
    """Builds woven programs and tells how each variant fares, before any is evaluated in earnest."""

    device: GuestDevice
    task: Task
    references: References
    quick: bool = True
    """Whether the quick compilers' word on what fails is enough."""

    def build(self, woven: Submission) -> Build:
        """Compile a woven program."""
        make = self.device.draft if self.quick else self.device.build
        return make(woven, self.task.workloads[0].init)

    def suspects(self, evaluation: Evaluation) -> tuple[Workload, ...]:
        """Return the workloads that went wrong, the ones with the fewest elements first."""
        right = {item.workload for item in evaluation.comparisons if item.equal}
        wrong = [w for w in self.task.judged if w.name not in right]
        return tuple(sorted(wrong, key=self.size))

    def size(self, workload: Workload) -> int:
        """Return how many input elements a workload has."""
        arrays = self.references.inputs[workload.name]
        return sum(int(getattr(array, "size", 0)) for array in arrays)

    def run(
        self, woven: Submission, build: Build, workload: Workload, numbers: Sequence[int]
    ) -> Mapping[int, Outcome]:
        """Return how each variant fares on a workload; what was not reached is left out."""
        source = parse(woven.code)
        found: dict[int, Outcome] = {}
        rest = list(numbers)
        for _ in range(1 + RESTARTS):
            reply = self._converse(woven, build, workload, rest)
            if reply.status == "grader_error":
                break
            done = self._outcomes(workload, reply, source, rest)
            found.update(done)
            rest = [number for number in rest if number not in done]
            if not rest or not done or reply.status == "timeout":
                break
        return found

    def _converse(
        self, woven: Submission, build: Build, workload: Workload, numbers: Sequence[int]
    ) -> GuestReply:
        group = Group(workload.init, workload.weights, (workload,))
        job = self.device.job(woven, build, group, (workload,), self.references)
        arguments = job.workloads[0].args
        options = {**job.options, "simulator": {"seconds": SECONDS}}
        calls = tuple(
            GuestWorkload(str(n), (*arguments, n), job.workloads[0].deadline) for n in numbers
        )
        limits = self.device.limits(min(WALL, self.device.options.run_seconds))
        return self.device.converse(replace(job, workloads=calls, options=options), limits)

    def _outcomes(
        self, workload: Workload, reply: GuestReply, source: Source, numbers: Sequence[int]
    ) -> dict[int, Outcome]:
        """Return the outcomes up to the call that ended the process."""
        found: dict[int, Outcome] = {}
        for number, result in zip(numbers, reply.results, strict=False):
            if result.status == "not_run":
                break
            run = self.device.record(workload, result, reply, source)
            ran = run.status == "ran"
            comparison = (
                judge.compare(self.task, workload, self.references, result) if ran else None
            )
            wrong = 1.0
            if comparison is not None:
                wrong = comparison.mismatch.fraction or 1.0 if comparison.mismatch else 0.0
            found[number] = Outcome(wrong, ran and not run.evidence)
            if self.device.lost(result):
                break
        return found


def screening(
    device: object, task: Task, references: References, *, quick: bool = True
) -> Screen | None:
    """Return the screen of a device; None where it has no guests to run variants in."""
    if not isinstance(device, GuestDevice):
        return None
    return Screen(device, task, references, quick)
