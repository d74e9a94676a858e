"""Trial of a built program on its task: runs, then further checks as long as it is right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from grader import judge
from grader.devices import Device, DryRunner, IdleRunner, Timed, Timer
from grader.devices.state_check import state_check, without_kernels
from grader.execution.full_size_part import saturation
from grader.judge import References
from grader.judge.side_effects import CHANGED, WRONG_AT_FULL_SIZE
from grader.judge.tolerance import element_count
from grader.pipeline.budget import Budget, with_left_out
from grader.pipeline.clock import Clock
from grader.pipeline.context import GradingContext, full_size_part_of, known_references
from grader.pipeline.soundness_check import Check, Checked
from grader.pipeline.verdicts import verdict_of
from grader.records import (
    DECIDING,
    RIGHT_VALUES,
    Build,
    Comparison,
    Evidence,
    KernelProfile,
    Run,
    Submission,
    Task,
    Timing,
    Verdict,
    Work,
    Workload,
)

LOOKS = {"dry_run": "the call at full size", "run again": "the runs in another order"}
"""Names of the further checks beyond the runs, by stage, if there is time."""
FULL_SIZE = "the values at full size"
"""Name of the last and costliest part of the second check."""
SETTLED = frozenset({"incorrect", "crashed", "hung", "timeout"})
"""Statuses on one workload that no other workload can improve."""


@dataclass(frozen=True)
class Seen:
    """The observations of a program so far, and the resulting verdict."""

    verdict: Verdict
    runs: tuple[Run, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    probes: tuple[Evidence, ...] = ()
    timings: tuple[Timing, ...] = ()
    work: Work | None = None
    profile: tuple[KernelProfile, ...] = ()
    checked: tuple[Run, ...] = ()
    left_out: tuple[str, ...] = ()
    """Names of the checks left out for lack of time."""


@dataclass(frozen=True)
class Trial:
    """A built program on its task: each check follows only if all earlier ones were right."""

    grading: GradingContext
    device: Device
    submission: Submission
    build: Build
    task: Task
    clock: Clock
    budget: Budget
    checked: Checked = Check

    def run_and_check(self, *, closely: bool) -> Seen:
        """Run the program, then do further checks as long as its values are right.

        An unsound program is checked further too, since a race must not hide worse defects or a cheat.
        """
        seen = self._look(closely=closely)
        verdict = with_left_out(seen.verdict, self.budget.seconds, seen.left_out)
        return replace(seen, verdict=verdict)

    def _look(self, *, closely: bool) -> Seen:
        with self.clock.stage("run"):
            seen = self._settled_early() or self._run_workloads()
        if not self.task.expects:
            return self._sound(seen)
        early = self.grading.options.settle_early
        if not early and seen.verdict.status == "incorrect" and _nearly(seen.comparisons):
            with self.clock.stage("run again"):
                return self._ask_saturation(seen)
        looks = [("dry_run", self._dry_run), ("run again", self._again)]
        last = [("check", self._sound), *([("time", self._time_seen)] if closely else [])]
        for stage, look in (*looks, *last):
            if seen.verdict.status not in RIGHT_VALUES:
                return seen
            if stage in LOOKS and not self.budget.enough("soundness"):
                seen = replace(seen, left_out=(*seen.left_out, LOOKS[stage]))
                continue
            with self.clock.stage(stage):
                seen = look(seen)
        return seen

    @property
    def _references(self) -> References:
        return known_references(self.grading, self.task)

    def _judge_seen(self, seen: Seen, dishonest: tuple[str, ...] = ()) -> Seen:
        verdict = verdict_of(
            self.grading,
            self.task,
            self.build,
            seen.runs,
            seen.comparisons,
            seen.probes,
            checked=seen.checked,
            dishonest=dishonest,
        )
        return replace(seen, verdict=verdict)

    def _settled_early(self) -> Seen | None:
        """Run the smallest workload that decides, where that may suffice; None where all must be run."""
        smallest = smallest_deciding(self.task)
        if not self.grading.options.settle_early or smallest is None:
            return None
        seen = self._run_workloads(self.task.model_copy(update={"workloads": (smallest,)}))
        return seen if seen.verdict.status in SETTLED else None

    def _run_workloads(self, some: Task | None = None) -> Seen:
        """Run the task's workloads, or these of them, with reference outputs computed once for all."""
        task, references = some or self.task, self._references
        device = self.budget.limit_device(self.device, "deciding", "stress")
        asked = device.run(self.submission, self.build, task, references)
        results = [result for result in asked if not result.spared]
        ran = {result.run.workload: result for result in results if result.run.status == "ran"}
        comparisons = [
            judge.compare(task, workload, references, ran[workload.name])
            for workload in task.judged
            if workload.name in ran and task.expects
        ]
        runs = tuple(result.run for result in results)
        probes = (
            *judge.side_effects(references, [result.result for result in results]),
            *judge.own_weights(task, comparisons, runs),
        )
        verdict = verdict_of(self.grading, task, self.build, runs, comparisons, probes)
        spared = tuple(result.run.workload for result in asked if result.spared)
        return Seen(verdict, runs, tuple(comparisons), probes, left_out=spared)

    def _ask_saturation(self, seen: Seen) -> Seen:
        """Check whether the task's own size can show a wrong result."""
        part = full_size_part_of(self.grading, self.task)
        found = saturation(self.task, part) if part is not None else ()
        return self._judge_seen(replace(seen, probes=(*seen.probes, *found))) if found else seen

    def _dry_run(self, seen: Seen) -> Seen:
        """Dry run at full size, where it may fail, or leave work to torch that it does itself elsewhere."""
        device = self.budget.limit_device(self.device, "soundness")
        if not isinstance(device, DryRunner):
            return seen
        seed = self._references.guest_seed
        full = device.dry_run(self.submission, self.build, self.task, seed)
        if full is None or (full.status == "ran" and judge.computing_operators(seen.runs)):
            return seen
        return self._judge_seen(replace(seen, runs=(*seen.runs, full)))

    def _again(self, seen: Seen) -> Seen:
        """Do the state check of a right program, and a call without its kernels."""
        program = (self.submission, self.build, self.task)
        device = self.budget.limit_device(self.device, "soundness")
        probes = seen.probes
        probes += state_check(device, *program, self._references, seen.runs, seen.comparisons)
        if isinstance(device, IdleRunner):
            probes += without_kernels(device, *program, self._references)
        device = self.budget.limit_device(self.device, "full size")
        if not self.budget.enough("full size"):
            seen = replace(seen, left_out=(*seen.left_out, FULL_SIZE))
        elif isinstance(device, DryRunner):
            probes += self._look_at_full_size(device, seen)
        return self._judge_seen(replace(seen, probes=probes))

    def _look_at_full_size(self, device: DryRunner, seen: Seen) -> tuple[Evidence, ...]:
        """Compare values there; not where a kernel works in its input's memory, where its stores can't be identified."""
        expected = self._references.expected.values()
        if any(item.code == CHANGED for item in seen.probes) or any(
            one.changes for one in expected
        ):
            return ()
        return device.look_at_full_size(
            self.submission,
            self.build,
            self.task,
            lambda: full_size_part_of(self.grading, self.task),
            library=bool(judge.computing_operators(seen.runs)),
        )

    def fails_at_full_size(self, seen: Seen) -> bool:
        """Whether what a right program is asked of the task's own size tells already that it is none."""
        device = self.budget.limit_device(self.device, "soundness")
        if not isinstance(device, DryRunner):
            return False
        seed = self._references.guest_seed
        called = device.dry_run(self.submission, self.build, self.task, seed)
        if called is not None and called.status != "ran":
            return True
        return any(
            item.code == WRONG_AT_FULL_SIZE for item in self._look_at_full_size(device, seen)
        )

    def _sound(self, seen: Seen) -> Seen:
        """Wait for the checker's proofs, before timing, which needs an idle machine."""
        check = self.checked()
        if not check.runs:
            return seen
        probes = (*seen.probes, *check.probes)
        return self._judge_seen(replace(seen, checked=check.runs, probes=probes))

    def _time_seen(self, seen: Seen) -> Seen:
        if not isinstance(self.device, Timer):
            return seen
        timed = self.device.time(self.submission, self.build, self.task, self._references)
        runs = (*seen.runs, *([timed.run] if timed.run else []))
        comparisons = (*seen.comparisons, *_at_full_size(self.task, timed))
        with_full = replace(seen, runs=runs, comparisons=comparisons)
        judged = self._judge_seen(with_full, timed.dishonest)
        verdict = _with_time(judged.verdict, timed)
        return replace(
            judged,
            verdict=verdict,
            timings=timed.timings,
            work=timed.work,
            profile=timed.profile,
        )


def smallest_deciding(task: Task) -> Workload | None:
    """Return the smallest workload that decides; None where fewer than two do."""
    decide = [workload for workload in task.judged if workload.role in DECIDING]
    return min(decide, key=element_count) if len(decide) > 1 else None


def _nearly(comparisons: Sequence[Comparison]) -> bool:
    """Whether all wrong results are right to half precision."""
    wrong = [item for item in comparisons if not item.equal and item.decides]
    return bool(wrong) and all(item.half_precision for item in wrong)


def _at_full_size(task: Task, timed: Timed) -> tuple[Comparison, ...]:
    """Return the comparison at full size: the wrong result, or one that is right."""
    if timed.comparison is not None:
        return (timed.comparison,)
    if task.full is None or timed.run is not None or timed.dishonest or timed.note:
        return ()
    return (Comparison(workload=task.full.name, role="full", equal=True),)


def _with_time(verdict: Verdict, timed: Timed) -> Verdict:
    """Add the timing: the speed-up of an honest program, or why there is none."""
    speedup = None if timed.dishonest else timed.speedup
    median, low, high = speedup or (None, None, None)
    return verdict.model_copy(
        update={
            "speedup": median,
            "speedup_low": low,
            "speedup_high": high,
            "reasons": (*verdict.reasons, *filter(None, (timed.note,))),
        }
    )
