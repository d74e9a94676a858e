"""`evaluate`: judges every program in the same way."""

from __future__ import annotations

from dataclasses import replace

from grader.devices import Sanitizer, looks_closer
from grader.languages import say_what_lacks
from grader.pipeline.budget import Budget
from grader.pipeline.building import build_on
from grader.pipeline.clock import Clock
from grader.pipeline.context import GradingContext, describe_draft, known_references
from grader.pipeline.exactness import add_exact, exactness
from grader.pipeline.own_share import own_share
from grader.pipeline.soundness_check import checked_beside
from grader.pipeline.trial import Seen, Trial, smallest_deciding
from grader.pipeline.verdicts import verdict_of
from grader.records import (
    Build,
    Evaluation,
    Evidence,
    Run,
    Submission,
    Task,
    Verdict,
    digest,
)
from grader.source import parse

LATE = frozenset({"timeout", "build_timeout"})


def evaluate(
    grading: GradingContext,
    submission: Submission,
    task: Task | None,
    *,
    closely: bool = True,
    budget: Budget | None = None,
) -> Evaluation:
    """Build a program, run it on the task's workloads, compare, and give the verdict.

    The same for a submission, a fixed one, a reference kernel and a known cheat; the result is stored by content.
    Without `closely`, timing and the device's own tools are skipped, for a candidate among many whose verdict is not
    final.
    """
    closely = closely or not looks_closer(grading.device)
    kind = "evaluation" if closely else "trial"
    key = digest(kind, grading.identity, submission.key, task.key if task else "")
    with grading.turns.of(key):
        stored = None if grading.options.fresh else grading.store.read("evaluation", key)
        if stored is not None:
            return Evaluation.model_validate_json(stored)
        within = budget or Budget.of(grading.options, grading.device)
        evaluation, cut = _evaluate(grading, submission, task, within, closely=closely)
        # A step without time here may have it elsewhere: all steps share a sample's time.
        if evaluation.verdict.status != "grader_error" and not (cut and budget):
            grading.store.write("evaluation", key, evaluation.model_dump_json().encode())
        return evaluation


def evaluate_draft(grading: GradingContext, submission: Submission, draft: Task) -> Evaluation:
    """Judge a program on a problem file's draft: a guest is asked for its workloads first."""
    return evaluate(grading, submission, describe_draft(grading, draft))


def _evaluate(
    grading: GradingContext,
    submission: Submission,
    task: Task | None,
    budget: Budget,
    *,
    closely: bool,
) -> tuple[Evaluation, bool]:
    """Return the evaluation, and whether anything was left out for lack of time."""
    clock, device = Clock(), grading.device
    if device is not None and (lacks := say_what_lacks(parse(submission.code), device.name)):
        grading = replace(grading, device=None, no_device=lacks)
    build, seen = _build_and_run(grading, submission, task, budget, clock, closely=closely)
    evaluation = _record(grading, submission, build, seen)
    if task is not None:
        evaluation = _add_own_share(grading, task, evaluation)
        if closely:
            with clock.stage("exact"):
                evaluation = add_exact(evaluation, exactness(grading, submission, task, evaluation))
        if closely and seen.runs:
            evaluation = _add_sanitizer(grading, submission, task, evaluation)
    cut = bool(seen.left_out) or evaluation.verdict.status in LATE
    return evaluation.model_copy(update={"seconds": clock.seconds}), cut


def _build_and_run(
    grading: GradingContext,
    submission: Submission,
    task: Task | None,
    budget: Budget,
    clock: Clock,
    *,
    closely: bool,
) -> tuple[Build | None, Seen]:
    """Return the build, if there is a device, and the observed runs of the program if it could run."""
    device = grading.device
    if device is None:
        return None, Seen(verdict_of(grading, task, None, (), (), ()))
    with clock.stage("build"):
        build = build_on(grading, budget.limit_device(device, "build"), submission, task)
    if task is None or build.status != "built":
        return build, Seen(verdict_of(grading, task, build, (), (), ()))
    with checked_beside(grading, submission, task, closely=closely) as checked:
        trial = Trial(grading, device, submission, build, task, clock, budget, checked)
        seen = trial.run_and_check(closely=closely)
        return build, replace(seen, checked=checked().runs)


def _record(
    grading: GradingContext, submission: Submission, build: Build | None, seen: Seen
) -> Evaluation:
    return Evaluation(
        submission=submission.key,
        device=grading.device.name if grading.device else "none",
        sandbox=grading.form.name,
        build=build,
        runs=seen.runs,
        checked=seen.checked,
        comparisons=seen.comparisons,
        timings=seen.timings,
        work=seen.work,
        profile=seen.profile,
        probes=seen.probes,
        verdict=seen.verdict,
    )


def _add_own_share(grading: GradingContext, task: Task, evaluation: Evaluation) -> Evaluation:
    """Add the smallest size that decides, and the own share of the program's kernels."""
    smallest = smallest_deciding(task)
    evaluation = evaluation.model_copy(update={"smallest": smallest.name if smallest else ""})
    return evaluation.model_copy(update={"own_share": own_share(grading, task, evaluation)})


def _add_sanitizer(
    grading: GradingContext,
    submission: Submission,
    task: Task,
    evaluation: Evaluation,
) -> Evaluation:
    """Add the evidence of the device's own tools to the runs, and update the verdict."""
    device, build = grading.device, evaluation.build
    if build is None or device is None or not isinstance(device, Sanitizer):
        return evaluation
    known = known_references(grading, task)
    seen = device.sanitize(submission, build, task, known, evaluation)
    if not seen.evidence and not seen.notes:
        return evaluation
    runs = tuple(_with_evidence(run, seen.evidence) for run in evaluation.runs)
    verdict = evaluation.verdict
    if verdict.status == "correct":
        verdict = _update_verdict(
            verdict,
            verdict_of(
                grading,
                task,
                build,
                runs,
                evaluation.comparisons,
                evaluation.probes,
                checked=evaluation.checked,
            ),
        )
    verdict = verdict.model_copy(update={"reasons": (*verdict.reasons, *seen.notes)})
    return evaluation.model_copy(update={"runs": runs, "verdict": verdict})


def _with_evidence(run: Run, evidence: tuple[Evidence, ...]) -> Run:
    own = (item for item in evidence if item.workload == run.workload)
    return run.model_copy(update={"evidence": (*run.evidence, *own)})


def _update_verdict(before: Verdict, now: Verdict) -> Verdict:
    """Return the current verdict, with the earlier measurements."""
    decided = {name: getattr(now, name) for name in ("status", "sentence", "correct", "general")}
    reasons = tuple(dict.fromkeys((*now.reasons, *before.reasons)))
    return before.model_copy(update={**decided, "reasons": reasons})
