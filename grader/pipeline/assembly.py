"""Assembles the review of one sample from the results of its stages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from grader import judge
from grader.diagnose import Program, fixes, gather, headline, self_review
from grader.diagnose.after_repair import weigh_by_repair
from grader.diagnose.claims import check_claims
from grader.ingest import as_it_came
from grader.languages import simulated_differently
from grader.pipeline.clock import Clock
from grader.pipeline.context import GradingContext
from grader.pipeline.prepare import Prepared
from grader.records import (
    DECIDING,
    Evaluation,
    Extraction,
    Finding,
    Fix,
    Repair,
    Review,
    Sample,
    Submission,
    Task,
    TaskChoice,
    TaskSummary,
    Verdict,
)
from grader.repair import Fixed, Model, ModelError, locate_by_repairs, summarise
from grader.source import Source, parse


@dataclass(frozen=True)
class Outcome:
    """The results of one sample's stages."""

    evaluation: Evaluation
    task: Task | None
    """The task at the judged sizes."""
    states: tuple[Program, ...] = ()
    """The submission and its fixed forms, in order."""
    repair: Repair | None = None
    repair_note: str = ""
    """Why there is no repair."""
    in_vain: frozenset[Fix] = frozenset()
    """Fixes of the search without an improvement, which are no advice."""
    left: tuple[Finding, ...] = ()
    """What is still found in the repaired program."""

    @property
    def trouble(self) -> tuple[str, ...]:
        """Rules that failed on the submission."""
        return self.states[0].trouble if self.states else ()


def assemble(
    grading: GradingContext,
    prepared: Prepared,
    outcome: Outcome,
    reference: Fixed | None,
    clock: Clock,
) -> Review:
    """Return the review of a sample; `reference` is the task's own kernel, None where the grader failed before."""
    sample, extraction, submission = prepared.sample, prepared.extraction, prepared.submission
    states, reference = outcome.states, reference or Fixed()
    findings, repair = _findings(outcome, submission)
    repairs = (*filter(None, (repair,)), *reference.repairs)
    evaluation = outcome.evaluation.model_copy(
        update={
            "verdict": _verdict(grading, prepared, outcome, repairs, findings),
            "seconds": {**outcome.evaluation.seconds, **clock.seconds},
        }
    )
    source = parse(submission.code) if submission else None
    return Review(
        sample=sample.id,
        origin=sample.origin,
        format=sample.format,
        text=sample.text,
        code=submission.code if submission else None,
        line_map=submission.line_map if submission else (),
        how=submission.how if submission else extraction.found,
        notes=(*_notes(prepared, outcome, source), *clock.trouble),
        task=_of_the_task(prepared.choice, outcome.task),
        evaluation=evaluation,
        findings=findings,
        fixes=fixes(states) if states else (),
        repairs=repairs,
        repair_note=outcome.repair_note,
        reference_note=reference.note,
        claims=check_claims(extraction, source, evaluation, findings),
        self_review=self_review(extraction, states, findings),
        summary=_summary(grading, evaluation.verdict, findings) if states else "",
        environment=_environment(grading),
    )


def _verdict(
    grading: GradingContext,
    prepared: Prepared,
    outcome: Outcome,
    repairs: tuple[Repair, ...],
    findings: tuple[Finding, ...],
) -> Verdict:
    """Return the verdict for the review's headline, with its cause and KernelBench's verdict."""
    verdict = _for_kernelbench(prepared.sample, prepared.extraction, outcome.evaluation.verdict)
    return headline(
        _for_want_of_a_task(prepared.choice, verdict),
        findings,
        {rule for one in repairs if one.kind == "fix" for rule, _ in one.settles},
        _elsewhere(outcome.task),
        read_only=grading.options.device == "none",
    )


def _findings(
    outcome: Outcome, submission: Submission | None
) -> tuple[tuple[Finding, ...], Repair | None]:
    """Return the findings in the sample's lines, consistent with the verdict and the repair, and what the repair settles."""
    findings = gather(outcome.states) if outcome.states else ()
    findings = tuple(_without_fixes(finding, outcome.in_vain) for finding in findings)
    repair = outcome.repair
    if submission is not None and repair is not None and repair.kind == "fix":
        findings, repair = weigh_by_repair(findings, submission, repair, outcome.left)
        findings = locate_by_repairs(findings, submission, [repair])
    return judge.in_keeping(outcome.evaluation.verdict, findings), repair


def _without_fixes(finding: Finding, in_vain: frozenset[Fix]) -> Finding:
    fixes = tuple(fix for fix in finding.fixes if fix not in in_vain)
    return finding if fixes == finding.fixes else finding.model_copy(update={"fixes": fixes})


def _elsewhere(task: Task | None) -> set[str]:
    """Return the names of the workloads that don't decide."""
    workloads = task.workloads if task else ()
    return {one.name for one in workloads if one.role not in DECIDING}


def _for_kernelbench(sample: Sample, extraction: Extraction, verdict: Verdict) -> Verdict:
    """Return the verdict with KernelBench's verdict on the original sample.

    It is unknown where KernelBench would run another program than the graded one.
    """
    if verdict.status == "grader_error":
        return verdict
    there = as_it_came(sample, extraction)
    if not there.runs:
        reasons = (*verdict.reasons, there.why)
        return verdict.model_copy(update={"kernelbench": False, "reasons": reasons})
    known = verdict.kernelbench if there.is_ours else None
    return verdict.model_copy(update={"kernelbench": known})


def _for_want_of_a_task(choice: TaskChoice, verdict: Verdict) -> Verdict:
    """Return the verdict with the reason why no task was found, and advice."""
    if verdict.status != "no_task" or not choice.reason:
        return verdict
    sentence = f"{verdict.sentence.rstrip('.')}. `--task NAME`, or `task` in its record, names one."
    reasons = (choice.reason, *verdict.reasons)
    return verdict.model_copy(update={"sentence": sentence, "reasons": reasons})


def _notes(prepared: Prepared, outcome: Outcome, source: Source | None) -> tuple[str, ...]:
    """Return the notes on the sample, its code, a task that isn't built in, and the examination."""
    submission, task = prepared.submission, outcome.task
    return (
        *prepared.sample.notes,
        *(submission.notes if submission else ()),
        *(task.notes if task and task.source != "builtin" else ()),
        *(simulated_differently(source) if source and outcome.evaluation.device == "sim" else ()),
        *outcome.trouble,
    )


def _of_the_task(choice: TaskChoice, task: Task | None) -> TaskSummary:
    task = task if task and task.expects else None
    return TaskSummary(
        name=task.name if task else None,
        source=choice.how,
        reason=choice.reason,
        confidence=choice.confidence,
        title=task.title if task else "",
        weak=task.weak if task else (),
        reference=task.reference if task else "",
        roles={one.name: one.role for one in task.workloads} if task else {},
    )


def _summary(grading: GradingContext, verdict: Verdict, findings: tuple[Finding, ...]) -> str:
    if not grading.options.llm or not findings:
        return ""
    try:
        return summarise(verdict, findings, Model(grading.options.llm))
    except ModelError as error:
        return f"(no summary: {error})"


def _environment(grading: GradingContext) -> Mapping[str, str]:
    facts = dict(grading.device.facts if grading.device else {"device": grading.no_device})
    if grading.checker is not None:
        facts["soundness"] = f"every access is checked by a run on {grading.checker.name} as well"
    return {**facts, "seed of the inputs": str(grading.seed)}
