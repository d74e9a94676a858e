"""`evaluate`: the one way in which any program is judged."""

from __future__ import annotations

from grader import judge
from grader.devices import Device
from grader.devices.second_look import second_look, without_kernels
from grader.devices.timing import Timed
from grader.judge import References
from grader.pipeline.clock import Clock
from grader.pipeline.workshop import (
    Workshop,
    full_size_part_of,
    known,
)
from grader.records import (
    Build,
    Comparison,
    Evaluation,
    Evidence,
    Finding,
    Run,
    Submission,
    Task,
    Timing,
    Verdict,
    digest,
)


def evaluate(workshop: Workshop, submission: Submission, task: Task | None) -> Evaluation:
    """Build a program, run it on the task's workloads, compare, and give the verdict.

    The same for a submission, a mended one, a reference kernel and a known cheat; the result is stored by content.
    """
    key = digest("evaluation", workshop.identity, submission.key, task.key if task else "")
    with workshop.turns.of(key):
        stored = None if workshop.options.fresh else workshop.store.read("evaluation", key)
        if stored is not None:
            return Evaluation.model_validate_json(stored)
        evaluation = _evaluate(workshop, submission, task)
        if evaluation.verdict.status != "grader_error":
            workshop.store.write("evaluation", key, evaluation.model_dump_json().encode())
        return evaluation


def _evaluate(workshop: Workshop, submission: Submission, task: Task | None) -> Evaluation:
    clock = Clock(lambda _stage: None)
    device = workshop.device
    build: Build | None = None
    runs: tuple[Run, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    probes: tuple[Evidence, ...] = ()
    if device is not None:
        with clock.stage("build"):
            build = device.build(submission, init_of(task))
        if build.status == "built" and task is not None:
            with clock.stage("run"):
                runs, comparisons, probes = _run(workshop, device, submission, build, task)

    verdict = verdict_of(workshop, task, build, runs, comparisons, probes)
    if device and build and task and verdict.status == "correct":
        with clock.stage("rehearse"):
            full = device.rehearse(submission, build, task, known(workshop, task).guest_seed)
        if full is not None:
            runs = (*runs, full)
            verdict = verdict_of(workshop, task, build, runs, comparisons, probes)
    if device and build and task and verdict.status == "correct":
        with clock.stage("run again"):
            probes += _again(workshop, device, submission, build, task, runs, comparisons)
        verdict = verdict_of(workshop, task, build, runs, comparisons, probes)
    timings: tuple[Timing, ...] = ()
    if device and build and task and verdict.status == "correct" and workshop.options.timing:
        with clock.stage("time"):
            timed = device.time(submission, build, task, known(workshop, task))
        if timed is not None:
            verdict = verdict_of(
                workshop, task, build, runs, comparisons, probes, dishonest=timed.dishonest
            )
            verdict, timings = _with_time(verdict, timed), timed.timings
    evaluation = Evaluation(
        submission=submission.key,
        device=device.name if device else "none",
        sandbox=workshop.form.name,
        build=build,
        runs=runs,
        comparisons=comparisons,
        timings=timings,
        probes=probes,
        verdict=verdict,
        seconds=clock.seconds,
    )
    if device is None or task is None or not runs:
        return evaluation
    return _sanitized(evaluation, device, submission, task, known(workshop, task))


def _run(
    workshop: Workshop, device: Device, submission: Submission, build: Build, task: Task
) -> tuple[tuple[Run, ...], tuple[Comparison, ...], tuple[Evidence, ...]]:
    references = known(workshop, task)
    results = device.run(submission, build, task, references)
    comparisons = [
        judge.compare(task, workload, references, result)
        for workload, result in zip(task.judged, results, strict=True)
        if result.run.status == "ran"
    ]
    seen = (
        *judge.conduct(references, [result.result for result in results]),
        *judge.own_weights(task, comparisons),
    )
    return tuple(result.run for result in results), tuple(comparisons), seen


def _again(
    workshop: Workshop,
    device: Device,
    submission: Submission,
    build: Build,
    task: Task,
    runs: tuple[Run, ...],
    comparisons: tuple[Comparison, ...],
) -> tuple[Evidence, ...]:
    """Look a second time at a program that was right; what it does without kernels where asked."""
    references = known(workshop, task)
    seen = second_look(device, submission, build, task, references, runs, comparisons)
    seen += without_kernels(device, submission, build, task, references)
    if judge.computing(runs):  # a library's work isn't done block by block
        return seen
    return seen + device.look_at_full_size(
        submission, build, task, lambda: full_size_part_of(workshop, task)
    )


def _sanitized(
    evaluation: Evaluation,
    device: Device,
    submission: Submission,
    task: Task,
    references: References,
) -> Evaluation:
    """Add to the runs what the device's own tools find in a program that went wrong."""
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
    reasons = (*evaluation.verdict.reasons, *seen.notes)
    verdict = evaluation.verdict.model_copy(update={"reasons": reasons})
    return evaluation.model_copy(update={"runs": runs, "verdict": verdict})


def weighed(
    workshop: Workshop, task: Task | None, evaluation: Evaluation, findings: tuple[Finding, ...]
) -> Evaluation:
    """Return the evaluation with a verdict that also weighs how the result came about."""
    cheats, dishonest = judge.suspicions(evaluation, findings, workshop.options.policy)
    if not cheats and not dishonest:
        return evaluation
    verdict = verdict_of(
        workshop,
        task,
        evaluation.build,
        evaluation.runs,
        evaluation.comparisons,
        evaluation.probes,
        rejected=cheats,
        dishonest=dishonest,
    )
    return evaluation.model_copy(update={"verdict": verdict})


def verdict_of(
    workshop: Workshop,
    task: Task | None,
    build: Build | None,
    runs: tuple[Run, ...],
    comparisons: tuple[Comparison, ...],
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
        shapes=workshop.options.shapes,
        no_device=workshop.no_device,
        rejected=rejected,
        dishonest=dishonest,
        probes=probes,
    )


def _with_time(verdict: Verdict, timed: Timed) -> Verdict:
    """Add what timing showed: the speedup of an honest program, or what goes wrong at full size."""
    speedup = None if timed.dishonest else timed.speedup
    median, low, high = speedup or (None, None, None)
    said = tuple(filter(None, (timed.wrong, timed.note)))
    return verdict.model_copy(
        update={
            "speedup": median,
            "speedup_low": low,
            "speedup_high": high,
            "general": False if timed.wrong else verdict.general,
            "reasons": (*verdict.reasons, *said),
        }
    )


def init_of(task: Task | None) -> tuple[object, ...] | None:
    """Return what the constructor of a task's first workload is called with."""
    return task.workloads[0].init if task and task.workloads else None
