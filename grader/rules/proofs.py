"""Findings of what runs showed: one a line, one a kernel."""

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
"""What alone makes no finding graver: a GPU carries on with it, and a result that is right stays right."""


def once(found: Iterable[Finding | None]) -> Iterator[Finding]:
    """Yield the first finding of each set of kernels: what it says of a launch holds for the next one too."""
    told: set[tuple[str, ...]] = set()
    for finding in found:
        if finding is not None and finding.kernels not in told:
            told.add(finding.kernels)
            yield finding


def of_the_leavers(finding: Finding, code: str, source: Source) -> Finding:
    """Return a finding that rests on nothing but threads that have returned, with that as its cause.

    Each barrier and each exchange after the `return` shows them: one defect, one finding.
    """
    codes = {item.code.replace("_", "-") for item in finding.evidence}
    if finding.kernels or finding.cause or codes != {code}:
        return finding
    cause = f"threads left {kernel_of(finding.evidence[0], spans(source))}"
    return finding.model_copy(update={"cause": cause})


def by_line(evidence: Iterable[Evidence]) -> Mapping[int, list[Evidence]]:
    """Return what runs showed by the lines that it is at."""
    found: dict[int, list[Evidence]] = {}
    for item in evidence:
        found.setdefault(item.place.line if item.place else 0, []).append(item)
    return found


def report_by_line(rule: Rule, evidence: Iterable[Evidence]) -> Iterator[Finding]:
    """Yield a finding for each line at which runs showed what a rule is about."""
    for items in by_line(evidence).values():
        yield rule.finding(items[0].place, cause_of(items[0]), evidence=items)
