"""From what happened to a program to the findings about it."""

from __future__ import annotations

from collections.abc import Iterator

from grader.devices.numeric_probes import probe_wrong
from grader.errors import GraderError
from grader.judge import References
from grader.judge.probes import Plan
from grader.pipeline.context import (
    GradingContext,
    asked,
    known,
)
from grader.records import (
    Evaluation,
    Evidence,
    Extraction,
    Finding,
    Mismatch,
    Raised,
    Run,
    Sample,
    Submission,
    Task,
    WrongValues,
    digest,
)
from grader.rules import Context
from grader.rules.engine import Inspection, inspect
from grader.rules.outcome import Outcome
from grader.source import parse


def inspected(
    grading: GradingContext,
    sample: Sample,
    extraction: Extraction,
    task: Task | None,
    program: Submission,
    evaluation: Evaluation,
) -> Inspection:
    """Return the findings about a program, from its text and from what happened to it.

    Says as well which rules failed or were not asked.
    """
    build = evaluation.build
    context = Context(
        task=task,
        torch_version=grading.device.torch_version if grading.device else (2, 6),
        evidence=evidence_of(evaluation),
        resources=build.resources if build else (),
        counts=tuple(count for run in evaluation.runs for count in run.counts),
        launches=tuple(launch for run in evaluation.runs for launch in run.launches),
        extraction=extraction,
        sample=sample,
        device=evaluation.device,
        outcome=Outcome(build, evaluation.runs, evaluation.comparisons),
    )
    options = grading.options
    found = inspect(parse(program.code), context, options.select, options.ignore)
    placed = tuple(_placed(finding, program) for finding in found.findings)
    return Inspection(placed, found.trouble)


def examine(
    grading: GradingContext,
    sample: Sample,
    extraction: Extraction,
    task: Task | None,
    program: Submission,
    evaluation: Evaluation,
) -> tuple[Finding, ...]:
    """Return only the findings of `inspected`."""
    return inspected(grading, sample, extraction, task, program, evaluation).findings


def evidence_of(evaluation: Evaluation) -> tuple[Evidence, ...]:
    """Return everything that was observed while a program was evaluated."""
    build = evaluation.build
    patterns = (
        pattern.model_copy(update={"workload": item.workload})
        for item in evaluation.comparisons
        if item.mismatch and item.decides
        for pattern in item.mismatch.patterns or (_plain(item.mismatch),)
    )
    return (
        *((*build.errors, *build.warnings) if build else ()),
        *(item for run in evaluation.runs for item in run.evidence),
        *_raised(evaluation.runs),
        *patterns,
        *evaluation.probes,
    )


def _raised(runs: tuple[Run, ...]) -> Iterator[Evidence]:
    """Yield what Python raised while the program ran, each sentence once, of the run where it came first."""
    said: dict[str, str] = {}
    for run in runs:
        if run.status == "raised":
            said.setdefault(run.reason, run.workload)
    for reason, workload in said.items():
        yield Evidence(
            kind="python",
            code="raised",
            text=reason,
            workload=workload,
            details=Raised(said=reason),
        )


def _plain(mismatch: Mismatch) -> Evidence:
    """Return a mismatch in which no pattern was seen as evidence by itself."""
    values = WrongValues(max_error=mismatch.max_error) if mismatch.kind == "values" else None
    return Evidence(
        kind="mismatch", code=mismatch.kind, text=mismatch.text, details=mismatch.form or values
    )


def _placed(finding: Finding, program: Submission) -> Finding:
    place = finding.place
    if place is None or place.sample_line:
        return finding
    return finding.model_copy(
        update={"place": place.model_copy(update={"sample_line": program.sample_line(place.line)})}
    )


def probed(
    grading: GradingContext, task: Task | None, submission: Submission, evaluation: Evaluation
) -> Evaluation:
    """Return the evaluation with what numeric probes show of its wrong results."""
    if grading.device is None or evaluation.build is None or task is None:
        return evaluation

    def ask(probing: Task, planned: Plan) -> References:
        key = digest("probe", task.key, planned.of)
        return grading.once(
            grading.references, key, lambda: asked(grading, probing, planned.inputs)
        )

    try:
        found = probe_wrong(
            grading.device,
            submission,
            evaluation.build,
            task,
            known(grading, task),
            evaluation.comparisons,
            ask,
        )
    except GraderError:  # an explanation is missing then, the verdict stands
        return evaluation
    return evaluation.model_copy(update={"probes": (*evaluation.probes, *found)})
