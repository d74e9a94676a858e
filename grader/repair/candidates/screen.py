"""Running a woven program: one guest, one call for each candidate."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from grader import judge
from grader.devices.guests import GuestDevice
from grader.judge import Group, References, groups
from grader.records import Build, Evaluation, Submission, Task, TensorSpec, Workload
from grader.sandbox import GuestReply
from grader.sandbox.limits import crowding
from grader.source import Source, parse

RESTARTS = 12
"""Guests after the first: a candidate that kills its process takes no other with it."""
SECONDS = 2.0
"""Seconds of simulation for one candidate on one workload, at most."""
LEAST = 1.0
"""Least time limit of a candidate."""
MORE = 10.0
"""Factor on the program's own time for a candidate's limit."""
WALL = 60.0
SMALL = 8
"""Largest size of a workload to try candidates on first, as a multiple of the smallest."""
EVEN = 16
"""A size that it divides cuts no tail."""

Call = tuple[str, int]
"""Name of a workload, and the candidate that is run on it."""


def count_hidden_dims(workload: Workload) -> int:
    """Return a penalty for sizes that hide errors: equal dims, which can be confused, and even ones."""
    shapes = [item.shape for item in workload.inputs if isinstance(item, TensorSpec)]
    sizes = [[size for size in shape if size > 1] for shape in shapes]
    equal = sum(len(own) - len(set(own)) for own in sizes)
    return equal + sum(size % EVEN == 0 for own in sizes for size in own)


@dataclass(frozen=True)
class Outcome:
    """One candidate's result on one workload."""

    wrong: float
    """Share of wrong elements: 0 where it is right, 1 where it did not come back."""
    clean: bool = False
    """Whether it ran to its end, and the simulator saw nothing that a right program doesn't do."""

    @property
    def right(self) -> bool:
        """Whether it is right, without evidence against it."""
        return self.wrong == 0 and self.clean


@dataclass(frozen=True)
class Screen:
    """Builds woven programs and screens each candidate, before any full evaluation."""

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
        """Return the wrong workloads: deciding ones before others, small ones that hide little first.

        An error at other sizes only may have another cause, which a change that is right for the task doesn't fix.
        """
        right = {item.workload for item in evaluation.comparisons if item.equal}
        wrong = [w for w in self.task.judged if w.name not in right]
        small = SMALL * min(map(self.size, wrong), default=0)

        def order(workload: Workload) -> tuple[bool, bool, int, int]:
            size = self.size(workload)
            return workload.role == "general", size > small, count_hidden_dims(workload), size

        return tuple(sorted(wrong, key=order))

    def size(self, workload: Workload) -> int:
        """Return the number of a workload's input elements."""
        arrays = self.references.inputs[workload.name]
        return sum(int(getattr(array, "size", 0)) for array in arrays)

    def run(
        self,
        woven: Submission,
        build: Build,
        workloads: Sequence[Workload],
        numbers: Sequence[int],
        before: Evaluation,
        allowance: Allowance,
        patience: float = 1.0,
    ) -> Mapping[Call, Outcome]:
        """Return each candidate's result on each workload, without those not reached.

        One guest answers for all workloads of one set of weights. `before` is the evaluation of the
        program without any change, which says how much time a candidate may need; no guest but the first
        begins once the allowance is spent. `patience` is how many times the usual time a candidate may
        take.
        """
        found: dict[Call, Outcome] = {}
        for group in groups(workloads):
            seconds = patience * allowed_seconds(before, group.workloads)
            play = _Play(self, woven, build, group, seconds, allowance)
            found.update(play.all([(w.name, n) for w in group.workloads for n in numbers]))
        return found


@dataclass
class Allowance:
    """The time limit of a search, without waiting for a GPU."""

    until: float
    """On the monotonic clock."""

    @property
    def spent(self) -> bool:
        """Whether the time is used up."""
        return time.monotonic() > self.until

    def extend(self, seconds: float) -> None:
        """Extend the limit to at least this many seconds on an idle machine."""
        self.until = max(self.until, time.monotonic() + seconds * crowding())

    def excuse(self, seconds: float) -> None:
        """Exclude waiting time."""
        self.until += max(seconds, 0.0)


def allowed_seconds(before: Evaluation, workloads: Sequence[Workload]) -> float:
    """Return the limit of a candidate's simulation on any of these workloads in seconds.

    It is a multiple of the unchanged program's time, so that an endless loop ends soon.
    """
    names = {workload.name for workload in workloads}
    took = [run.seconds for run in before.runs if run.workload in names and run.status == "ran"]
    return min(SECONDS, max(LEAST, MORE * max(took))) if took else SECONDS


@dataclass(frozen=True)
class _Play:
    """A woven program's guests on the workloads of one set of weights."""

    screen: Screen
    woven: Submission
    build: Build
    group: Group
    seconds: float
    allowance: Allowance

    def all(self, calls: Sequence[Call]) -> Mapping[Call, Outcome]:
        """Return the outcomes of these calls; a new guest continues after a call that ended the process."""
        source = parse(self.woven.code)
        found: dict[Call, Outcome] = {}
        rest = list(calls)
        for _ in range(1 + RESTARTS):
            reply = self._converse(rest)
            if reply.status == "grader_error":
                break
            done = self._outcomes(reply, source, rest)
            found.update(done)
            rest = rest[len(done) :]
            if reply.status == "timeout" and rest:  # the running call is not repeated
                found[rest[0]] = Outcome(1.0)
                rest = rest[1:]
            elif not done:
                break
            if not rest or self.allowance.spent:
                break
        return found

    def _converse(self, calls: Sequence[Call]) -> GuestReply:
        device = self.screen.device
        job = device.job(
            self.woven, self.build, self.group, self.group.workloads, self.screen.references
        )
        given = {workload.name: workload for workload in job.workloads}
        asked = tuple(
            replace(given[name], name=f"{name} {n}", args=(*given[name].args, n))
            for name, n in calls
        )
        # All candidates together take more registers than any of them: large blocks would not start.
        options = {**job.options, "simulator": {"seconds": self.seconds}, "registers": {}}
        limits = device.limits(min(WALL, device.options.run_seconds))
        begin = time.monotonic()
        reply = device.converse(replace(job, workloads=asked, options=options), limits)
        self.allowance.excuse(time.monotonic() - begin - reply.seconds)
        return reply

    def _outcomes(
        self, reply: GuestReply, source: Source, calls: Sequence[Call]
    ) -> dict[Call, Outcome]:
        """Return the outcomes up to the call that ended the process."""
        workloads = {workload.name: workload for workload in self.group.workloads}
        screen = self.screen
        found: dict[Call, Outcome] = {}
        for call, result in zip(calls, reply.results, strict=False):
            if result.status == "not_run":
                break
            workload = workloads[call[0]]
            run = screen.device.record(workload, result, reply, source)
            wrong = 1.0
            if run.status == "ran":
                compared = judge.compare(screen.task, workload, screen.references, result)
                wrong = compared.mismatch.fraction or 1.0 if compared.mismatch else 0.0
            found[call] = Outcome(wrong, run.status == "ran" and judge.clean(run))
            if screen.device.lost(result):
                break
        return found


def screen_of(
    device: object, task: Task, references: References, *, quick: bool = True
) -> Screen | None:
    """Return the screen of a device; None where it has no guests to run candidates in."""
    if not isinstance(device, GuestDevice):
        return None
    return Screen(device, task, references, quick)
