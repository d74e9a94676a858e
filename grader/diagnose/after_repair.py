"""What a passing repair leaves in place did not make the program wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grader.diagnose.gather import Way
from grader.records import Finding, Repair, Severity, Submission
from grader.rules import all_rules
from grader.rules.engine import SEVERITIES

WRONG = "NUM001"
"""The rule of a wrong result; a repair's line becomes its place."""


def weigh_by_repair(
    findings: tuple[Finding, ...], submission: Submission, repair: Repair, left: Sequence[Finding]
) -> tuple[tuple[Finding, ...], Repair]:
    """Return the findings, with the severity that the repaired program gives them on lines that it kept, and the repair.

    `left` are the repaired program's findings. Where what the repair was to settle is one of these, it settled a wrong
    result instead, for which a finding is added.
    """
    kept = _severities(submission, repair, left)
    lowered = {n: kept[key] for n, one in enumerate(findings) if (key := _key(one)) in kept}
    lowered = {n: now for n, now in lowered.items() if _is_lower(now, findings[n].severity)}
    alone = {findings[n].rule for n in lowered}
    alone -= {one.rule for n, one in enumerate(findings) if n not in lowered and one.severity == "error"}  # fmt: skip
    settles = tuple((WRONG if rule in alone else rule, label) for rule, label in repair.settles)
    weighed = tuple(
        one.model_copy(update={"severity": lowered[n]}) if n in lowered else one
        for n, one in enumerate(findings)
    )
    if settles != repair.settles and not any(one.rule == WRONG for one in weighed):
        weighed = (*weighed, _wrong_result(next(findings[n] for n in lowered)))
    return _raise_to_error(weighed, settles), repair.model_copy(update={"settles": settles})


def _raise_to_error(
    findings: tuple[Finding, ...], settles: Sequence[tuple[str, str]]
) -> tuple[Finding, ...]:
    """Return the findings, where none is an error with the warnings that the repair settles as errors: they were the cause."""
    settled = {rule for rule, _ in settles}
    if any(one.severity == "error" for one in findings):
        return findings
    return tuple(
        one.model_copy(update={"severity": "error"})
        if one.severity == "warning" and one.rule in settled
        else one
        for one in findings
    )


def _severities(
    submission: Submission, repair: Repair, left: Sequence[Finding]
) -> Mapping[tuple[str, int], Severity]:
    """Return the severities of a repaired program's findings by rule and line of the submission, where that line is kept."""
    way = Way(submission.code, repair.code, submission.line_map)
    there = [one for one in left if one.place and one.place.line not in way.changed]
    return {(one.rule, way.line(one.place.line)): one.severity for one in there if one.place}


def _key(finding: Finding) -> tuple[str, int]:
    return finding.rule, finding.place.line if finding.place else 0


def _is_lower(now: Severity, before: Severity) -> bool:
    return before == "error" and SEVERITIES.index(now) > SEVERITIES.index(before)


def _wrong_result(finding: Finding) -> Finding:
    """Return the finding of a wrong result with another one's evidence."""
    return finding.model_copy(
        update={
            "rule": WRONG,
            "name": all_rules()[WRONG].name,
            "fixes": (),
            "also": (),
            "message": "the result is wrong",
            "confidence": "proven",
        }
    )
