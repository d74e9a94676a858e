"""`Examiner`: evaluates and inspects programs in the same way for all callers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from grader.diagnose import Program
from grader.pipeline.budget import Budget
from grader.pipeline.context import GradingContext
from grader.pipeline.evaluation import evaluate
from grader.pipeline.prepare import Prepared
from grader.pipeline.verdicts import weigh_verdict
from grader.records import (
    Context,
    Evaluation,
    Evidence,
    Extraction,
    Finding,
    Mismatch,
    Outcome,
    Raised,
    Run,
    Sample,
    Submission,
    Task,
    WrongValues,
    digest,
)
from grader.repair import fixes
from grader.rules import engine
from grader.rules.engine import Inspection
from grader.source import parse

SEEN = {"build", "runs", "checked", "comparisons", "probes", "device"}
"""The fields of an evaluation that an inspection reads, without verdict and times."""


@dataclass(frozen=True)
class Examiner:
    """Examines programs against one task; implements `diagnose.Examiner`.

    A program is inspected once for the same evidence. One thread uses an examiner at a time.
    """

    grading: GradingContext
    task: Task | None
    sample: Sample | None = None
    extraction: Extraction | None = None
    """The sample and its extraction, whose prose is inspected too. None for our own programs."""
    closely: bool = True
    """Whether programs are timed and examined with the device's own tools; candidates of a search are not."""
    budget: Budget | None = None
    """The time budget of the submission; every other program has its own."""
    inspections: dict[tuple[str, str, str], Inspection] = field(default_factory=dict, repr=False)
    """By program, task and evidence."""

    def on(self, task: Task | None) -> Examiner:
        """Return an examiner for another task, such as the same task at other sizes."""
        return replace(self, task=task)

    def examine(self, submission: Submission) -> Program:
        """Build, run, compare and inspect a program, and weigh its honesty."""
        evaluation = evaluate(
            self.grading, submission, self.task, closely=self.closely, budget=self.budget
        )
        program = self.inspect(submission, evaluation)
        verdict = weigh_verdict(self.grading, self.task, evaluation, program.findings)
        return replace(program, evaluation=verdict)

    def inspect(self, submission: Submission, evaluation: Evaluation) -> Program:
        """Return an evaluated program with its findings."""
        seen = evaluation.model_dump_json(include=SEEN)
        key = (submission.key, self.task.key if self.task else "", digest("evidence", seen))
        if key not in self.inspections:
            self.inspections[key] = self._inspect(submission, evaluation)
        found = self.inspections[key]
        findings = tuple(_place_in_sample(finding, submission) for finding in found.findings)
        return Program(submission, evaluation, findings, trouble=found.trouble)

    def _inspect(self, submission: Submission, evaluation: Evaluation) -> Inspection:
        options = self.grading.options
        context, source = self._context(evaluation), parse(submission.code)
        detected = engine.detect(source, context, options.select, options.ignore)
        return engine.settle(fixes.attach(detected, source, context), source, context)

    def _context(self, evaluation: Evaluation) -> Context:
        build = evaluation.build
        runs = (*evaluation.runs, *evaluation.checked)
        return Context(
            task=self.task if self.task and self.task.expects else None,
            evidence=evidence_of(evaluation),
            resources=build.resources if build else (),
            counts=tuple(count for run in runs for count in run.counts),
            launches=tuple(launch for run in runs for launch in run.launches),
            extraction=self.extraction,
            sample=self.sample,
            device=evaluation.device,
            outcome=Outcome(build, evaluation.runs, evaluation.comparisons, evaluation.checked),
        )


def examiner_of(grading: GradingContext, prepared: Prepared) -> Examiner:
    """Return the examiner of a sample's programs."""
    return Examiner(grading, prepared.task, prepared.sample, prepared.extraction)


def evidence_of(evaluation: Evaluation) -> tuple[Evidence, ...]:
    """Return all evidence from a program's evaluation."""
    build = evaluation.build
    patterns = (
        pattern.model_copy(update={"workload": item.workload})
        for item in evaluation.comparisons
        if item.mismatch and item.decides
        for pattern in item.mismatch.patterns or (_plain(item.mismatch),)
    )
    return (
        *((*build.errors, *build.warnings) if build else ()),
        *(item for run in (*evaluation.runs, *evaluation.checked) for item in run.evidence),
        *_raised_in_python(evaluation.runs),
        *patterns,
        *evaluation.probes,
    )


def _raised_in_python(runs: tuple[Run, ...]) -> Iterator[Evidence]:
    """Yield the Python exceptions of the program's runs, each sentence once, from the first run with it."""
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
    """Return a mismatch without a pattern as evidence."""
    values = WrongValues(max_error=mismatch.max_error) if mismatch.kind == "values" else None
    return Evidence(
        kind="mismatch", code=mismatch.kind, text=mismatch.text, details=mismatch.form or values
    )


def _place_in_sample(finding: Finding, submission: Submission) -> Finding:
    """Return the finding with its line in the sample."""
    place = finding.place
    if place is None or place.sample_line:
        return finding
    line = submission.sample_line(place.line)
    return finding.model_copy(update={"place": place.model_copy(update={"sample_line": line})})
