"""The few hundred bytes of each review that tables, plots and scores of a run need, so that all fit in memory."""

from __future__ import annotations

import sys
from collections import Counter
from typing import NamedTuple

from grader.records import DeviceName, Finding, Review, Severity, Status
from grader.report.status import FAILED, group
from grader.report.times import Point, point


class Claimed(NamedTuple):
    """A rule with an error or a warning on the sample."""

    rule: str
    name: str
    severity: Severity


class Entry(NamedTuple):
    """One sample of a run."""

    sample: str
    task: str | None
    device: DeviceName
    sandbox: str
    status: Status
    general: bool | None
    sentence: str
    compiled: bool | None
    speedup: float | None
    speedup_low: float | None
    speedup_high: float | None
    seconds: float
    errors: int
    warnings: int
    claimed: tuple[Claimed, ...]
    """Each rule once."""
    cause: str
    """Code of the rule that names the cause of a failure; the status where nothing failed."""
    fixed: bool
    """Whether a repair of the submission has passed."""
    has_reference: bool
    """Whether a kernel of the task's family has passed."""
    times: Point | None
    """Measured times and floor, where both are known."""


def entry(review: Review) -> Entry:
    """Return the review's entry."""
    verdict, evaluation = review.verdict, review.evaluation
    levels = Counter(finding.severity for finding in review.findings)
    kinds = {repair.kind for repair in review.repairs}
    return Entry(
        sample=review.sample,
        task=review.task.name and sys.intern(review.task.name),
        device=evaluation.device,
        sandbox=sys.intern(evaluation.sandbox),
        status=verdict.status,
        general=verdict.general,
        sentence=verdict.sentence,
        compiled=verdict.compiled,
        speedup=verdict.speedup,
        speedup_low=verdict.speedup_low,
        speedup_high=verdict.speedup_high,
        seconds=sum(evaluation.seconds.values()),
        errors=levels["error"],
        warnings=levels["warning"],
        claimed=tuple(sorted({_claim_of(f) for f in review.findings if f.severity != "note"})),
        cause=_cause(review),
        fixed=bool(kinds & {"fix", "model"}),
        has_reference="reference" in kinds,
        times=point(review),
    )


def _claim_of(finding: Finding) -> Claimed:
    return Claimed(sys.intern(finding.rule), sys.intern(finding.name), finding.severity)


def _cause(review: Review) -> str:
    """Return the first error of the submission as it is; deeper ones if there is no other."""
    if group(review.verdict.status) not in FAILED:
        return review.verdict.status
    errors = [finding for finding in review.findings if finding.severity == "error"]
    errors.sort(key=lambda finding: (bool(finding.after_fix), finding.confidence != "proven"))
    return sys.intern(errors[0].rule) if errors else "no finding"
