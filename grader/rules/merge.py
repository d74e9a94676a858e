"""Merges findings of the same cause into one for each defect."""

from collections.abc import Collection, Iterable, Iterator, Sequence

from grader.records import Counterfactual, Dependence, Evidence, Finding, LaunchEnlarged
from grader.records.finding import TOOLS
from grader.records.observed import RUN_KINDS
from grader.rules.families import family_of, precedence_of
from grader.rules.registry import all_rules

SEVERITY = ("error", "warning", "note")
CONFIDENCE = ("proven", "likely", "possible")
NEAR = 2
"""Lines within which two findings speak of one place."""


def merge(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings with those of one defect joined under the one that takes precedence.

    Two findings are of one defect when they carry the same `cause` (one with `root_cause` takes precedence), when they rest on the
    same piece of compiler evidence, when they are of one rule at one place, when a rule is
    `explained_by` another one and their lines overlap, or when one is an effect that a change of the other's line ends. The evidence of all of them is kept.
    """
    kept: list[Finding] = []
    for finding in _first_resorts(sorted(findings, key=_precedence)):
        for index, first in enumerate(kept):
            if _one_defect(first, finding):
                kept[index] = _join_findings(first, finding)
                break
        else:
            kept.append(finding)
    proven = any(map(_right_when_changed, kept))
    return tuple(_without_claims(kept) if proven else kept)


def _without_claims(findings: Sequence[Finding]) -> Iterator[Finding]:
    """Lower claims about a line that stayed unchanged while a change elsewhere made everything right."""
    for one in findings:
        claims = _explains(one) and one.confidence != "proven"
        yield one.model_copy(update={"severity": "warning"}) if claims else one


def _first_resorts(findings: Sequence[Finding]) -> Iterator[Finding]:
    """Remove last-resort findings on a wrong result if there is a better explanation."""
    for finding in findings:
        better = (
            other
            for other in findings
            if (_explains(other) and not _claims_elsewhere(other, finding))
            or _as_much(other, finding)
        )
        if not (finding.last_resort and any(_seen_where(other, finding) for other in better)):
            yield finding


def _claims_elsewhere(better: Finding, last: Finding) -> bool:
    """Whether a text's claim is about another line than the one where a run saw elements lost or added."""
    seen = any(
        isinstance(item.details, Dependence)
        and (item.code in {"missing", "other-elements"} or item.details.threads)
        for item in last.evidence
    )
    if not seen or better.confidence == "proven" or better.place is None or last.place is None:
        return False
    return abs(better.place.line - last.place.line) > NEAR


def _as_much(better: Finding, last: Finding) -> bool:
    """Whether a proven remark explains another one, on results that are wrong at other sizes only."""
    both = better.severity == last.severity == "warning" and not better.last_resort
    return both and better.confidence == "proven" and family_of(better.rule).explains_results


def _seen_where(better: Finding, last: Finding) -> bool:
    """Whether a better explanation was shown on the workloads with wrong results."""
    wrong, shown = _workloads(last), _workloads(better)
    return not wrong or not shown or bool(wrong & shown)


def _workloads(finding: Finding) -> set[str]:
    runs = (item for item in finding.evidence if item.kind in {"mismatch", *RUN_KINDS})
    return {item.workload for item in runs if item.workload}


def is_explained(findings: Iterable[Finding]) -> bool:
    """Whether a proven finding explains the wrong results."""
    return any(_explains(finding) and finding.confidence == "proven" for finding in findings)


def is_caused(findings: Iterable[Finding], wrong: Collection[str] = ()) -> bool:
    """Whether a proven finding gives the cause of all wrong results, not only a run's behaviour; `wrong` are workloads."""
    causes = (one for one in findings if not _is_effect(one) and not _in_part(one))
    proven = (one for one in causes if _explains(one) and one.confidence == "proven")
    return any(not wrong or not (at := _workloads(one)) or at & set(wrong) for one in proven)


def _is_effect(finding: Finding) -> bool:
    rule = all_rules().get(finding.rule)
    return rule is not None and rule.effect and not finding.root_cause


def _in_part(finding: Finding) -> bool:
    """Whether a larger launch leaves elements wrong."""
    return any(
        isinstance(item.details, LaunchEnlarged) and item.details.left for item in finding.evidence
    )


def _explains(finding: Finding) -> bool:
    error = finding.severity == "error" and not finding.last_resort
    return error and family_of(finding.rule).explains_results


def _precedence(finding: Finding) -> tuple[bool, int, int, str, int]:
    return (
        _catch_all(finding.rule),
        -1 if finding.root_cause else precedence_of(finding.rule),
        SEVERITY.index(finding.severity),
        finding.rule,
        finding.place.line if finding.place else 0,
    )


def _one_defect(first: Finding, second: Finding) -> bool:
    if _right_when_changed(first) and (
        _is_effect(second) or _in_part(second) or (_explains(second) and _overlap(first, second))
    ):
        return True
    if first.cause and first.cause == second.cause:
        return True
    if _build_evidence(first) & _build_evidence(second):
        return True
    if first.rule == second.rule:
        return first.place == second.place and first.message == second.message
    rule = all_rules().get(second.rule)
    return rule is not None and first.rule in rule.explained_by and _overlap(first, second)


def _right_when_changed(finding: Finding) -> bool:
    """Whether counterfactual runs were right, in values and accesses."""
    return any(isinstance(item.details, Counterfactual) for item in finding.evidence)


def _catch_all(code: str) -> bool:
    rule = all_rules().get(code)
    return rule is not None and rule.catch_all


def _build_evidence(finding: Finding) -> set[tuple[str, str, int]]:
    return {_identity(item) for item in finding.evidence if item.kind in TOOLS}


def _identity(item: Evidence) -> tuple[str, str, int]:
    return (item.kind, item.text, item.place.line if item.place else 0)


def _overlap(first: Finding, second: Finding) -> bool:
    one, other = first.place, second.place
    return bool(one and other and one.line <= other.end_line and other.line <= one.end_line)


def _join_findings(first: Finding, second: Finding) -> Finding:
    also = [*first.also, second.rule, *second.also]
    return first.model_copy(
        update={
            "severity": min(first.severity, second.severity, key=SEVERITY.index),
            "confidence": min(first.confidence, second.confidence, key=CONFIDENCE.index),
            "also": tuple(
                dict.fromkeys(code for code in also if code != first.rule and not _catch_all(code))
            ),
            "evidence": (
                *first.evidence,
                *(one for one in second.evidence if one not in first.evidence),
            ),
            "fixes": (*first.fixes, *(fix for fix in second.fixes if fix not in first.fixes)),
        }
    )
