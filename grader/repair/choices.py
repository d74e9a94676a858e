"""Choices of fixes for a program's findings, single and combined, the likeliest first."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import combinations, product

from grader.diagnose import Program
from grader.records import Finding, Fix
from grader.repair.trials import Chosen
from grader.repair.wrong import matters

SEVERITIES = {"error": 0, "warning": 1, "note": 2}


def choices_of_fixes(program: Program, *, merely_possible: bool = False) -> Iterator[Chosen]:
    """Yield one fix of each finding together, single fixes, then other combinations, then pairs."""
    options = _options(program, merely_possible)
    everything = _without_repeats(tuple(fixes[0] for fixes in options))
    if len(everything) > 1:
        yield everything
    yield from ((one,) for fixes in options for one in fixes)
    if len(options) > 1:
        yield from (one for one in map(_without_repeats, product(*options)) if one != everything)
    if len(options) > 2:
        for first, second in combinations(options, 2):
            yield from product(first, second)


def _options(program: Program, merely_possible: bool) -> list[Chosen]:
    """Return the fixes of each finding that may change the verdict; only of errors, if there are any."""
    made = {fix for _, fix in program.fixes}
    asked = (one for one in program.findings if (one.confidence == "possible") == merely_possible)
    ordered = sorted(
        (one for one in asked if one.fixes and matters(program, one)),
        key=lambda one: (SEVERITIES[one.severity], one.confidence != "proven"),
    )
    findings = [one for one in ordered if one.severity == "error"] or ordered
    options = [tuple((one, fix) for fix in one.fixes if fix not in made) for one in findings]
    return [fixes for fixes in options if fixes]


def _without_repeats(chosen: Chosen) -> Chosen:
    """Leave out fixes that another finding proposes too."""
    first: dict[Fix, Finding] = {}
    for finding, fix in chosen:
        first.setdefault(fix, finding)
    return tuple((finding, fix) for fix, finding in first.items())


def has_fixes(program: Program) -> bool:
    """Whether a program's findings propose fixes that were not applied yet."""
    return bool(_options(program, merely_possible=False))


def cause_of(program: Program) -> Finding:
    """Return the finding that a change without its own rule settles: the gravest without a fix.

    A finding that shows only on workloads that don't decide is not the cause.
    """
    beside = {one.workload for one in program.evaluation.comparisons if not one.decides}
    ordered = sorted(
        (one for one in program.findings if not _is_only_on(beside, one)),
        key=lambda one: (SEVERITIES[one.severity], bool(one.fixes), one.confidence != "proven"),
    )
    if ordered and ordered[0].severity == "error":
        return ordered[0]
    return Finding(
        rule="NUM001",
        name="computes-something-else",
        severity="error",
        confidence="proven",
        message=program.evaluation.verdict.sentence,
    )


def _is_only_on(workloads: Collection[str], finding: Finding) -> bool:
    seen = {item.workload for item in finding.evidence if item.workload}
    return bool(seen) and seen <= set(workloads)
