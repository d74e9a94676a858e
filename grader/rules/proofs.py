"""Helpers for findings from runs: one for each line, one for each kernel."""

from collections.abc import Iterable, Iterator, Mapping

from grader.records import Evidence, Finding
from grader.records.observed import kernel_of
from grader.rules.causes import cause_of
from grader.rules.rule import Rule
from grader.source import Source
from grader.source.analysis.cases import spans

FORGIVEN = frozenset({"barrier-exited", "race-volatile"})
"""What a GPU carries on with (tests/gpu/recorded): wrong by CUDA's rules, right on the machine."""
CARRIED_ON = FORGIVEN | {"sync-exited-lanes"}
"""Kinds that don't raise a finding's severity, since GPUs tolerate them and right results stay right."""


def once(found: Iterable[Finding | None]) -> Iterator[Finding]:
    """Yield the first finding of each set of kernels, since it holds for later launches too."""
    told: set[tuple[str, ...]] = set()
    for finding in found:
        if finding is not None and finding.kernels not in told:
            told.add(finding.kernels)
            yield finding


def of_the_leavers(finding: Finding, code: str, source: Source) -> Finding:
    """Return a finding with returned threads as its cause, if that is its only evidence.

    Each barrier and exchange after the `return` shows them, but they are one defect.
    """
    codes = {item.code.replace("_", "-") for item in finding.evidence}
    if finding.kernels or finding.cause or codes != {code}:
        return finding
    cause = f"threads left {kernel_of(finding.evidence[0], spans(source))}"
    return finding.model_copy(update={"cause": cause})


def by_line(evidence: Iterable[Evidence]) -> Mapping[int, list[Evidence]]:
    """Return evidence from runs by line."""
    found: dict[int, list[Evidence]] = {}
    for item in evidence:
        found.setdefault(item.place.line if item.place else 0, []).append(item)
    return found


def report_by_line(rule: Rule, evidence: Iterable[Evidence]) -> Iterator[Finding]:
    """Yield a finding for each line with a rule's evidence from runs."""
    for items in by_line(evidence).values():
        yield rule.finding(items[0].place, cause_of(items[0]), evidence=items)
