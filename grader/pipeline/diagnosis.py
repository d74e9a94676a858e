"""`diagnose`: why a program is wrong, and what its first failure hides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from grader import diagnose
from grader.devices.counterfactual import change_wrong
from grader.devices.larger_launch import enlarge_launches
from grader.devices.numeric_probes import probe_wrong
from grader.devices.provenance import trace_wrong
from grader.diagnose import Program
from grader.errors import GraderError
from grader.execution.gradients import Needs, gradients
from grader.judge import References
from grader.judge.probes import Plan
from grader.pipeline.budget import Budget, with_left_out
from grader.pipeline.clock import Clock
from grader.pipeline.context import GradingContext, ask_references, known_references
from grader.pipeline.examiner import Examiner
from grader.records import Evaluation, Submission, Task, Workload, digest
from grader.records.observed import leaves_out
from grader.rules import is_explained

CAUSE = "the runs that tell why the results are wrong"
"""What is left out where there is no time for it, in words."""


def diagnose_program(
    examiner: Examiner, program: Program, clock: Clock, budget: Budget
) -> tuple[Program, ...]:
    """Return the states of a program from what was handed in to the deepest one that fixes could reach.

    The first one has what numeric probes show, where nothing else explains its wrong results.
    """
    with clock.stage("diagnose"):
        first = program
        with clock.beyond_verdict("what explains a wrong result"):
            first = _probe_program(examiner, program, budget)
        with clock.beyond_verdict("the deeper diagnosis"):
            return diagnose.deepen(first, examiner, lambda: budget.enough("diagnosis"))
    return (first,)


def _probe_program(examiner: Examiner, program: Program, budget: Budget) -> Program:
    """Return a wrong program that nothing explains yet with the evidence of numeric probes."""
    if program.status != "incorrect":
        return program
    if not budget.enough("diagnosis"):
        return _unexplained(program, budget.seconds)
    examiner = _within(examiner, budget)
    evaluation, seen = program.evaluation, [e for one in program.findings for e in one.evidence]
    if not is_explained(program.findings):
        evaluation = _with_probes(examiner.grading, examiner.task, program)
    if leaves_out((*seen, *evaluation.probes)):
        evaluation = _with_larger_launches(examiner, program.submission, evaluation)
    if evaluation is program.evaluation:
        return program
    again = examiner.inspect(program.submission, evaluation)
    if not is_explained(again.findings):
        changed = _with_changes(examiner.grading, examiner.task, again)
        again = examiner.inspect(program.submission, changed)
    trouble = tuple(dict.fromkeys((*program.trouble, *again.trouble)))
    return replace(again, trouble=trouble)


def _within(examiner: Examiner, budget: Budget) -> Examiner:
    """Return the examiner with a device that looks for no cause beyond the sample's time."""
    grading = examiner.grading
    if grading.device is None:
        return examiner
    device = budget.bound(grading.device, "diagnosis")
    return replace(examiner, grading=replace(grading, device=device))


def _unexplained(program: Program, seconds: float) -> Program:
    verdict = with_left_out(program.evaluation.verdict, seconds, (CAUSE,))
    return replace(program, evaluation=program.evaluation.model_copy(update={"verdict": verdict}))


def _with_probes(grading: GradingContext, task: Task | None, program: Program) -> Evaluation:
    evaluation = program.evaluation
    if grading.device is None or evaluation.build is None or task is None:
        return evaluation
    references: Callable[[Task, Plan], References] = partial(_references_of_probe, grading, task)
    try:
        found = probe_wrong(
            grading.device,
            program.submission,
            evaluation.build,
            task,
            known_references(grading, task),
            evaluation.comparisons,
            references,
        )
    except GraderError:  # an explanation is missing then, the verdict is still valid
        return evaluation
    traced = trace_wrong(
        grading.device,
        program.submission,
        evaluation.build,
        task,
        known_references(grading, task),
        evaluation.comparisons,
        partial(_gradients, grading, task),
    )
    return evaluation.model_copy(update={"probes": (*evaluation.probes, *found, *traced)})


def _with_changes(grading: GradingContext, task: Task | None, program: Program) -> Evaluation:
    """Return a program's evaluation with the change under which its results are right, if one was found."""
    evaluation = program.evaluation
    if grading.device is None or evaluation.build is None or task is None:
        return evaluation
    errors = (one.place for one in program.findings if one.severity == "error" and one.place)
    changed = change_wrong(
        grading.device,
        program.submission,
        evaluation.build,
        task,
        known_references(grading, task),
        evaluation.comparisons,
        frozenset(place.line for place in errors),
    )
    return evaluation.model_copy(update={"probes": (*evaluation.probes, *changed)})


def _with_larger_launches(
    examiner: Examiner, submission: Submission, evaluation: Evaluation
) -> Evaluation:
    """Return it with the launch that is too small, where one is."""
    grading, task = examiner.grading, examiner.task
    if grading.device is None or evaluation.build is None or task is None:
        return evaluation
    known, compared = known_references(grading, task), evaluation.comparisons
    found = enlarge_launches(
        grading.device, submission, evaluation.build, task, known, compared, evaluation.runs
    )
    return evaluation.model_copy(update={"probes": (*evaluation.probes, *found)})


def _gradients(
    grading: GradingContext, task: Task, workload: Workload, asked: Sequence[tuple[int, int]]
) -> list[Needs]:
    known_there = known_references(grading, task)
    return gradients(task, workload, known_there, asked, grading.form, grading.limits)


def _references_of_probe(
    grading: GradingContext, task: Task, probing: Task, plan: Plan
) -> References:
    """Return what the reference says on a probe's inputs; asked once a run."""
    key = digest("probe", task.key, plan.of)
    return grading.references.get(key, partial(ask_references, grading, probing, plan.inputs))
