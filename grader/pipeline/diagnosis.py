"""`diagnose`: the cause of a wrong program, and the defects that its first failure hides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from grader import diagnose
from grader.devices import Device, Tracer
from grader.devices.counterfactual import change_wrong, wrong_values
from grader.devices.larger_launch import enlarge_launches
from grader.devices.leads import leads
from grader.devices.numeric_probes import probe_wrong
from grader.devices.provenance import trace_wrong
from grader.diagnose import Program
from grader.errors import GraderError
from grader.execution.gradients import Needs, gradients
from grader.judge import References
from grader.judge.probes import Plan
from grader.pipeline.budget import Budget, with_left_out
from grader.pipeline.building import build_on
from grader.pipeline.clock import Clock
from grader.pipeline.context import GradingContext, ask_references, known_references
from grader.pipeline.examiner import Examiner
from grader.records import (
    Build,
    Comparison,
    Evaluation,
    Evidence,
    Finding,
    Submission,
    Task,
    Workload,
    digest,
)
from grader.records.observed import leaves_out
from grader.rules import all_rules, is_caused, is_explained

Follower = tuple[Device, Submission, Build, Task, References, Sequence[Comparison]]
"""A device that can follow a program's values, and its inputs for that."""

CAUSE = "the runs that tell why the results are wrong"
"""Names of the steps that are left out for lack of time."""
FIXABLE = 0.25
"""Share of the time for counterfactual runs where a finding already has a fix, so that they only check for another
cause, or proves the cause without a fix, so that they only search for one."""
BESIDE_AN_EFFECT = 0.5
"""The same share where a finding names a run's behaviour, which usually is also the cause."""


def diagnose_program(
    examiner: Examiner, program: Program, clock: Clock, budget: Budget
) -> tuple[Program, ...]:
    """Return the states of a program, from the submission to the deepest one that fixes could reach.

    The first and the deepest state have the evidence of numeric probes, where nothing else explains their wrong
    results.
    """
    states: tuple[Program, ...] = (program,)
    with clock.stage("diagnose"):
        with clock.beyond_verdict("what explains a wrong result"):
            states = (_probe_program(examiner, program, budget),)
        with clock.beyond_verdict("the deeper diagnosis"):
            states = diagnose.deepen(states[0], examiner, lambda: budget.enough("diagnosis"))
        with clock.beyond_verdict("what explains the deepest result"):
            if len(states) > 1:
                states = (*states[:-1], _probe_program(examiner, states[-1], budget))
    return states


def _probe_program(examiner: Examiner, program: Program, budget: Budget) -> Program:
    """Return a wrong, unexplained program with the evidence of numeric probes.

    A program that is wrong only at other sizes is only run with larger launches.
    """
    wrong = program.status == "incorrect"
    if not wrong and program.evaluation.verdict.general is not False:
        return program
    if not budget.enough("diagnosis"):
        return _without_explanation(program, budget.seconds)
    grading, task = _within(examiner.grading, budget), examiner.task
    again, seen = program, [e for one in program.findings for e in one.evidence]
    if wrong and not is_explained(program.findings):
        again = replace(again, evaluation=_with_probes(grading, task, again))
    if not wrong or leaves_out((*seen, *again.evaluation.probes)):
        again = replace(again, evaluation=_with_larger_launches(grading, task, again))
    if again is not program:
        again = examiner.inspect(program.submission, again.evaluation)
    if wrong and not (_is_caused(again) and _is_fixable(again)):
        again = examiner.inspect(program.submission, _with_changes(grading, task, again))
    trouble = tuple(dict.fromkeys((*program.trouble, *again.trouble)))
    return replace(again, fixes=program.fixes, trouble=trouble)


def _within(grading: GradingContext, budget: Budget) -> GradingContext:
    """Return the context with a device limited to the sample's time."""
    device = grading.device and budget.limit_device(grading.device, "diagnosis")
    return replace(grading, device=device)


def _without_explanation(program: Program, seconds: float) -> Program:
    verdict = with_left_out(program.evaluation.verdict, seconds, (CAUSE,))
    return replace(program, evaluation=program.evaluation.model_copy(update={"verdict": verdict}))


def _follower(grading: GradingContext, task: Task | None, program: Program) -> Follower | None:
    """Return the device that follows a program's values: the judging device if it can, else the checker."""
    device, build = grading.device, program.evaluation.build
    if device is None or build is None or task is None:
        return None
    if not isinstance(device, Tracer) and grading.checker is not None:
        device = grading.checker
        build = build_on(grading, device, program.submission, task)
    known = known_references(grading, task)
    compared = program.evaluation.comparisons
    return (device, program.submission, build, task, known, compared)


def _with_probes(grading: GradingContext, task: Task | None, program: Program) -> Evaluation:
    evaluation = program.evaluation
    follower = _follower(grading, task, program)
    if grading.device is None or evaluation.build is None or task is None or follower is None:
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
    except GraderError:  # then the explanation is missing, but the verdict is valid
        return evaluation
    traced = trace_wrong(*follower, partial(_gradients, grading, task))
    return _with_seen(evaluation, *found, *traced)


def _with_changes(grading: GradingContext, task: Task | None, program: Program) -> Evaluation:
    """Return a program's evaluation with the change under which its results are right, if one was found."""
    follower = _follower(grading, task, program)
    caused, fixable = _is_caused(program), _is_fixable(program)
    effects = any(map(_is_effect, program.findings))
    share = BESIDE_AN_EFFECT if effects else FIXABLE if fixable or caused else 1.0
    seconds = grading.options.explain_seconds * share
    known = leads(program.findings, program.evaluation.probes, outside=effects, caused=caused)
    changed = change_wrong(*follower, known, seconds) if follower and seconds else ()
    return _with_seen(program.evaluation, *changed)


def _is_caused(program: Program) -> bool:
    """Whether the cause of wrong values in the right form is proven."""
    return is_caused(program.findings, wrong_values(program.evaluation.comparisons))


def _is_fixable(program: Program) -> bool:
    return any(one.fixes and one.severity == "error" for one in program.findings)


def _is_effect(finding: Finding) -> bool:
    """Whether a finding only describes a run's behaviour."""
    rule = all_rules().get(finding.rule)
    return rule is not None and rule.effect and finding.severity == "error"


def _with_larger_launches(
    grading: GradingContext, task: Task | None, program: Program
) -> Evaluation:
    """Return a program's evaluation with evidence of a too small launch, if there is one."""
    evaluation, follower = program.evaluation, _follower(grading, task, program)
    runs = (*evaluation.runs, *evaluation.checked)
    return _with_seen(evaluation, *(enlarge_launches(*follower, runs) if follower else ()))


def _with_seen(evaluation: Evaluation, *seen: Evidence) -> Evaluation:
    return evaluation.model_copy(update={"probes": (*evaluation.probes, *seen)})


def _gradients(
    grading: GradingContext, task: Task, workload: Workload, asked: Sequence[tuple[int, int]]
) -> list[Needs]:
    known_there = known_references(grading, task)
    return gradients(task, workload, known_there, asked, grading.form, grading.limits)


def _references_of_probe(
    grading: GradingContext, task: Task, probing: Task, plan: Plan
) -> References:
    """Return the reference's outputs on a probe's inputs, computed once for each run of the grader."""
    key = digest("probe", task.key, plan.of)
    return grading.references.get(key, partial(ask_references, grading, probing, plan.inputs))
