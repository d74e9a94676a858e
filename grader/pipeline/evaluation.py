"""`evaluate`: the one way in which any program is judged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from grader import judge
from grader.devices import Device
from grader.devices.cuda.timing import Timed
from grader.devices.state_check import state_check, without_kernels
from grader.execution.full_size_part import saturation
from grader.judge import References
from grader.pipeline.clock import Clock
from grader.pipeline.context import (
    GradingContext,
    described,
    full_size_part_of,
    known,
)
from grader.records import (
    RIGHT_VALUES,
    Build,
    Comparison,
    Evaluation,
    Evidence,
    Finding,
    KernelProfile,
    Run,
    Submission,
    Task,
    Timing,
    Verdict,
    Work,
    digest,
)


def looks_closer(grading: GradingContext) -> bool:
    """Whether the device has more to say of a program than how its runs ended."""
    return grading.device is not None and grading.device.looks_closer


def evaluate(
    grading: GradingContext, submission: Submission, task: Task | None, *, closely: bool = True
) -> Evaluation:
    """Build a program, run it on the task's workloads, compare, and give the verdict.

    The same for a submission, a fixed one, a reference kernel and a known cheat; the result is stored by content.
    Not `closely`: without time and without the device's own tools, for a candidate among many, whose
    verdict is no program's last.
    """
    closely = closely or not looks_closer(grading)
    kind = "evaluation" if closely else "trial"
    key = digest(kind, grading.identity, submission.key, task.key if task else "")
    with grading.turns.of(key):
        stored = None if grading.options.fresh else grading.store.read("evaluation", key)
        if stored is not None:
            return Evaluation.model_validate_json(stored)
        evaluation = _evaluate(grading, submission, task, closely=closely)
        if evaluation.verdict.status != "grader_error":
            grading.store.write("evaluation", key, evaluation.model_dump_json().encode())
        return evaluation


def evaluate_draft(grading: GradingContext, submission: Submission, draft: Task) -> Evaluation:
    """Judge a program on a problem file's draft: a guest is asked for its workloads first."""
    return evaluate(grading, submission, described(grading, draft))


def _evaluate(
    grading: GradingContext, submission: Submission, task: Task | None, *, closely: bool
) -> Evaluation:
    clock = Clock(lambda _stage: None)
    device = grading.device
    build: Build | None = None
    if device is not None:
        with clock.stage("build"):
            build = device.build(submission, init_of(task))
    seen = _Seen(verdict_of(grading, task, build, (), (), ()))
    if device and build and task and build.status == "built":
        seen = _Trial(grading, device, submission, build, task, clock).seen(closely=closely)
    evaluation = Evaluation(
        submission=submission.key,
        device=device.name if device else "none",
        sandbox=grading.form.name,
        build=build,
        runs=seen.runs,
        comparisons=seen.comparisons,
        timings=seen.timings,
        work=seen.work,
        profile=seen.profile,
        probes=seen.probes,
        verdict=seen.verdict,
        seconds=clock.seconds,
    )
    if device is None or task is None or not seen.runs or not closely:
        return evaluation

    def judged(runs: tuple[Run, ...]) -> Verdict:
        return verdict_of(grading, task, build, runs, evaluation.comparisons, evaluation.probes)

    return _sanitized(evaluation, device, submission, task, known(grading, task), judged)


@dataclass(frozen=True)
class _Seen:
    """What has been seen of a program so far, and what that makes it."""

    verdict: Verdict
    runs: tuple[Run, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    probes: tuple[Evidence, ...] = ()
    timings: tuple[Timing, ...] = ()
    work: Work | None = None
    profile: tuple[KernelProfile, ...] = ()


@dataclass(frozen=True)
class _Trial:
    """A built program on its task: each look is taken while all that came before it was right."""

    grading: GradingContext
    device: Device
    submission: Submission
    build: Build
    task: Task
    clock: Clock

    def seen(self, *, closely: bool) -> _Seen:
        """Run the program, then look closer as long as its values are right.

        An unsound one as well: worse than that may show, and a race is not to keep a cheat from being seen.
        """
        with self.clock.stage("run"):
            seen = self._run()
        if seen.verdict.status == "incorrect" and _nearly(seen.comparisons):
            with self.clock.stage("run again"):
                return self._saturated(seen)
        looks = [("dry_run", self._dry_run), ("run again", self._again)]
        for stage, look in (*looks, *([("time", self._time)] if closely else [])):
            if seen.verdict.status in RIGHT_VALUES:
                with self.clock.stage(stage):
                    seen = look(seen)
        return seen

    @property
    def _references(self) -> References:
        return known(self.grading, self.task)

    def _judged(self, seen: _Seen, dishonest: tuple[str, ...] = ()) -> _Seen:
        verdict = verdict_of(
            self.grading,
            self.task,
            self.build,
            seen.runs,
            seen.comparisons,
            seen.probes,
            dishonest=dishonest,
        )
        return replace(seen, verdict=verdict)

    def _run(self) -> _Seen:
        task, references = self.task, self._references
        results = self.device.run(self.submission, self.build, task, references)
        comparisons = [
            judge.compare(task, workload, references, result)
            for workload, result in zip(task.judged, results, strict=True)
            if result.run.status == "ran"
        ]
        probes = (
            *judge.side_effects(references, [result.result for result in results]),
            *judge.own_weights(task, comparisons),
        )
        runs = tuple(result.run for result in results)
        verdict = verdict_of(self.grading, task, self.build, runs, comparisons, probes)
        return _Seen(verdict, runs, tuple(comparisons), probes)

    def _saturated(self, seen: _Seen) -> _Seen:
        """Ask whether the task's own size would show that the result is wrong."""
        part = full_size_part_of(self.grading, self.task)
        found = saturation(self.task, part) if part is not None else ()
        return self._judged(replace(seen, probes=(*seen.probes, *found))) if found else seen

    def _dry_run(self, seen: _Seen) -> _Seen:
        """Call it at full size: it may fail there, or leave to torch what it does itself elsewhere."""
        seed = self._references.guest_seed
        full = self.device.dry_run(self.submission, self.build, self.task, seed)
        if full is None or (full.status == "ran" and judge.computing(seen.runs)):
            return seen
        return self._judged(replace(seen, runs=(*seen.runs, full)))

    def _again(self, seen: _Seen) -> _Seen:
        """Look a second time at a program that was right; what it does without kernels too."""
        program = (self.device, self.submission, self.build, self.task)
        probes = seen.probes
        probes += state_check(*program, self._references, seen.runs, seen.comparisons)
        probes += without_kernels(*program, self._references)
        if not judge.computing(seen.runs):  # a library's work isn't done block by block
            probes += self.device.look_at_full_size(
                self.submission,
                self.build,
                self.task,
                lambda: full_size_part_of(self.grading, self.task),
            )
        return self._judged(replace(seen, probes=probes))

    def _time(self, seen: _Seen) -> _Seen:
        timed = self.device.time(self.submission, self.build, self.task, self._references)
        if timed is None:
            return seen
        runs = (*seen.runs, *([timed.run] if timed.run else []))
        comparisons = (*seen.comparisons, *_at_full_size(self.task, timed))
        with_full = replace(seen, runs=runs, comparisons=comparisons)
        judged = self._judged(with_full, timed.dishonest)
        verdict = _with_time(judged.verdict, timed)
        return replace(
            judged,
            verdict=verdict,
            timings=timed.timings,
            work=timed.work,
            profile=timed.profile,
        )


def _nearly(comparisons: Sequence[Comparison]) -> bool:
    """Whether all that is wrong is right to half precision."""
    wrong = [item for item in comparisons if not item.equal and item.decides]
    return bool(wrong) and all(item.half_precision for item in wrong)


def _at_full_size(task: Task, timed: Timed) -> tuple[Comparison, ...]:
    """Return the comparison at full size: what was wrong there, or that the results were right."""
    if timed.comparison is not None:
        return (timed.comparison,)
    if task.full is None or timed.run is not None or timed.dishonest or timed.note:
        return ()
    return (Comparison(workload=task.full.name, role="full", equal=True),)


def _sanitized(
    evaluation: Evaluation,
    device: Device,
    submission: Submission,
    task: Task,
    references: References,
    judged: Callable[[tuple[Run, ...]], Verdict],
) -> Evaluation:
    """Add to the runs what the device's own tools find, and say what that makes of a right result."""
    if evaluation.build is None:
        return evaluation
    seen = device.sanitize(submission, evaluation.build, task, references, evaluation)
    if not seen.evidence and not seen.notes:
        return evaluation
    runs = tuple(
        run.model_copy(
            update={
                "evidence": (
                    *run.evidence,
                    *(item for item in seen.evidence if item.workload == run.workload),
                )
            }
        )
        for run in evaluation.runs
    )
    verdict = evaluation.verdict
    if verdict.status == "correct":
        now = judged(runs)
        told = {name: getattr(now, name) for name in ("status", "sentence", "correct", "general")}
        reasons = tuple(dict.fromkeys((*now.reasons, *verdict.reasons)))
        verdict = verdict.model_copy(update={**told, "reasons": reasons})
    verdict = verdict.model_copy(update={"reasons": (*verdict.reasons, *seen.notes)})
    return evaluation.model_copy(update={"runs": runs, "verdict": verdict})


def weighed(
    grading: GradingContext,
    task: Task | None,
    evaluation: Evaluation,
    findings: tuple[Finding, ...],
) -> Evaluation:
    """Return the evaluation with a verdict that also weighs how the result came about."""
    found = judge.suspicions(evaluation, findings, grading.options.policy)
    if not found.rejected and not found.dishonest:
        verdict = (
            judge.noted(evaluation.verdict, found.notes) if found.notes else evaluation.verdict
        )
        return evaluation.model_copy(update={"verdict": verdict})
    verdict = verdict_of(
        grading,
        task,
        evaluation.build,
        evaluation.runs,
        evaluation.comparisons,
        evaluation.probes,
        rejected=found.rejected,
        dishonest=found.dishonest,
    )
    return evaluation.model_copy(update={"verdict": verdict})


def verdict_of(
    grading: GradingContext,
    task: Task | None,
    build: Build | None,
    runs: tuple[Run, ...],
    comparisons: Sequence[Comparison],
    probes: tuple[Evidence, ...],
    *,
    rejected: tuple[str, ...] = (),
    dishonest: tuple[str, ...] = (),
) -> Verdict:
    """Return what the judge says of all this under the run's options."""
    return judge.verdict(
        task=task,
        build=build,
        runs=runs,
        comparisons=comparisons,
        shapes=grading.options.shapes,
        no_device=grading.no_device,
        rejected=rejected,
        dishonest=dishonest,
        probes=probes,
    )


def _with_time(verdict: Verdict, timed: Timed) -> Verdict:
    """Add what timing showed: the speedup of an honest program, or why there is none."""
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


def init_of(task: Task | None) -> tuple[object, ...] | None:
    """Return what the constructor of a task's first workload is called with."""
    return task.workloads[0].init if task and task.workloads else None
