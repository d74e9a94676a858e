"""One row of `results.jsonl` for each review: what scripts read.

The models below are the format: `docs/results.schema.json` is made from them.
"""

from __future__ import annotations

import json
from typing import Literal

from pydantic import ConfigDict, Field

from grader.records import (
    SCHEMA,
    Algebraic,
    Confidence,
    DeviceName,
    Evaluation,
    EvidenceKind,
    FailsWith,
    Finding,
    Form,
    JsonValue,
    Record,
    Repair,
    Review,
    RunStatus,
    SeenAt,
    Severity,
    Status,
)


class RowRecord(Record):
    """A part of a row, whose fields are described in the schema."""

    model_config = ConfigDict(use_attribute_docstrings=True)


class TaskRow(RowRecord):
    """The task that the sample was judged by."""

    name: str | None
    """None where the task is not known."""
    source: str
    """`builtin`, `kernelbench`, `embedded`, `file`, or `none`."""
    reason: str
    """The reason for choosing this task."""
    confidence: float
    """0 to 1; below 1 where the task was inferred."""
    weak: list[str]
    """Why verdicts on this task are weak; empty where they are not."""


class EvidenceRow(RowRecord):
    """An observation."""

    kind: EvidenceKind
    code: str
    """Name of the observation: `race`, `constant-factor`, ..."""
    text: str
    count: int


class FindingRow(RowRecord):
    """A rule's claim about the submission."""

    rule: str
    name: str
    severity: Severity
    confidence: Confidence
    line: int | None
    """Line of the submission (1-based)."""
    sample_line: int | None
    """Line of the sample (1-based)."""
    message: str
    evidence: list[EvidenceRow]
    after_fix: list[str]
    """Fixes after which it showed; empty for the submission as it is."""
    after_mend: list[str]
    """The same as `after_fix`, by its old name; gone in the next version of this format."""
    also: list[str]
    """Codes of other rules with the same cause."""


class WorkloadRow(RowRecord):
    """One input that the outputs were compared on."""

    name: str
    role: str
    """`nominal`, `stress`: decide `correct`; `general`: decides `general`; `full`: for timing."""
    run: RunStatus
    equal: bool
    decides: bool
    """Whether it is part of the verdict."""
    counts: bool
    """The same as `decides`, by its old name; gone in the next version of this format."""
    mismatch: str | None
    """How the output differs."""
    kernelbench_equal: bool | None
    """Under KernelBench's own tolerance."""


class RepairRow(RowRecord):
    """A fixed program that has passed the same examination."""

    kind: Literal["fix", "model", "reference"]
    form: Form | None
    """Of a reference-fixed kernel: `plain`, to learn from, or `fast`."""
    status: Status
    general: bool | None
    speedup: float | None
    settles: list[str]
    """Codes of the rules whose findings it settles."""
    code: str


class Row(RowRecord):
    """One line of `results.jsonl`."""

    schema_: str = Field(SCHEMA, alias="schema")
    """Version of this format."""
    sample: str
    """The sample's id, unique in the run."""
    origin: str
    """Where the sample came from, as it was given."""
    submission: str | None
    """Content address of the code that was graded; None if there is none."""
    task: TaskRow
    device: DeviceName
    """Where it ran: `sim` is the simulator; `none`: it did not run."""
    sandbox: str
    """The sandbox form that it ran in."""
    status: Status
    """Where the submission stands; `grader_error` is never the sample's fault. `unsound`: the values came out right,
    and a run proved that they need not; only `correct` has no finding of severity error."""
    sentence: str
    """The verdict in one sentence."""
    compiled: bool | None
    correct: bool | None
    general: bool | None
    """Right at sizes that the task doesn't name as well; None where that was not tested."""
    fails_with: FailsWith | None = None
    """What a program that is `correct` and not `general` was seen to fail with."""
    honest: bool | None
    kernelbench_correct: bool | None
    """Whether it passes by KernelBench's own tolerance."""
    seen_at: SeenAt | None = None
    """The largest size at which values were compared: the task's own in full, or in some blocks, or smaller ones."""
    algebraic: Algebraic | None = None
    """Comparison with the reference in exact arithmetic, with `--exact`: `equal` but for rounding, or `not shown`,
    which is no proof of an error."""
    speedup: float | None
    """Over eager PyTorch, measured on a GPU; None without a measurement."""
    speedup_interval: list[float] | None
    """Both ends of its 95% interval."""
    findings: list[FindingRow]
    workloads: list[WorkloadRow]
    repair: RepairRow | None
    """The repaired submission; None where no fix passed."""
    reference_fixed: RepairRow | None
    """A right kernel for the task, written by the grader and verified; None if there is none. The plain form, where
    there is one."""
    reference_fast: RepairRow | None
    """The same task's fast kernel, where `reference_fixed` is plain and both ran on a GPU."""
    reference_note: str
    """Why there is no `reference_fixed`; empty where there is one, or none was requested (`--no-repair`)."""
    repair_note: str
    """How far the search for a repair got, where none passed."""
    seconds: dict[str, float]
    """Wall time by stage."""
    machine: dict[str, JsonValue]
    key: str = ""
    """Content address of sample, options and grader; a resumed run looks for it."""


def row(review: Review, key: str = "") -> dict[str, JsonValue]:
    """Return the row of `docs/results.schema.json` for the review."""
    verdict, task = review.verdict, review.task
    made = Row(
        schema=SCHEMA,
        sample=review.sample,
        origin=review.origin,
        submission=review.evaluation.submission or None,
        task=TaskRow(
            name=task.name,
            source=task.source,
            reason=task.reason,
            confidence=task.confidence,
            weak=list(task.weak),
        ),
        device=review.evaluation.device,
        sandbox=review.evaluation.sandbox,
        status=verdict.status,
        sentence=verdict.sentence,
        compiled=verdict.compiled,
        correct=verdict.correct,
        general=verdict.general,
        fails_with=verdict.fails_with,
        honest=verdict.honest,
        kernelbench_correct=verdict.kernelbench,
        seen_at=verdict.seen_at,
        algebraic=review.evaluation.exact.algebraic if review.evaluation.exact else None,
        speedup=verdict.speedup,
        speedup_interval=_interval(verdict.speedup_low, verdict.speedup_high),
        findings=[_finding(finding) for finding in review.findings],
        workloads=_workloads(review.evaluation),
        repair=_of(next((one for one in review.repairs if one.kind != "reference"), None)),
        reference_fixed=_of(review.reference),
        reference_fast=_of(review.reference_fast),
        reference_note=review.reference_note,
        repair_note=review.repair_note,
        seconds={name: round(value, 3) for name, value in review.evaluation.seconds.items()},
        machine=dict(review.machine),
        key=key,
    )
    return made.model_dump(mode="json", by_alias=True)


def line(review: Review, key: str = "") -> str:
    """Return the row as one line of JSON, with the content address that a resumed run looks for."""
    return json.dumps(row(review, key), ensure_ascii=True, allow_nan=False, default=str)


def _interval(low: float | None, high: float | None) -> list[float] | None:
    return None if low is None or high is None else [low, high]


def _finding(finding: Finding) -> FindingRow:
    place = finding.place
    return FindingRow(
        rule=finding.rule,
        name=finding.name,
        severity=finding.severity,
        confidence=finding.confidence,
        line=place.line if place else None,
        sample_line=(place.sample_line or None) if place else None,
        message=finding.message,
        evidence=[
            EvidenceRow(kind=item.kind, code=item.code, text=item.text, count=item.count)
            for item in finding.evidence
        ],
        after_fix=list(finding.after_fix),
        after_mend=list(finding.after_fix),
        also=list(finding.also),
    )


def _workloads(evaluation: Evaluation) -> list[WorkloadRow]:
    outcomes = {run.workload: run.status for run in evaluation.runs}
    return [
        WorkloadRow(
            name=item.workload,
            role=item.role,
            run=outcomes.get(item.workload, "ran"),
            equal=item.equal,
            decides=item.decides,
            counts=item.decides,
            mismatch=item.mismatch.text if item.mismatch else None,
            kernelbench_equal=item.kernelbench_equal,
        )
        for item in evaluation.comparisons
    ]


def _of(repair: Repair | None) -> RepairRow | None:
    if repair is None:
        return None
    verdict = repair.evaluation.verdict
    return RepairRow(
        kind=repair.kind,
        form=repair.form,
        status=verdict.status,
        general=verdict.general,
        speedup=verdict.speedup,
        settles=[rule for rule, _ in repair.settles],
        code=repair.code,
    )
