"""Kernels that are never launched, whose defects are irrelevant."""

from collections.abc import Iterator, Sequence

from grader.records import Finding
from grader.rules.families import family_of
from grader.source import Source

NEVER_LAUNCHED = "CHT003"


def leave_out_idle(findings: Sequence[Finding], source: Source) -> Iterator[Finding]:
    """Yield the findings except those on kernels that are never launched; evidence from runs always stays."""
    idle = {name for f in findings if f.rule == NEVER_LAUNCHED for name in f.kernels}
    spans = [
        unit.place(kernel.node)
        for unit in source.cuda
        for kernel in unit.kernels
        if kernel.name in idle
    ]
    for finding in findings:
        place = finding.place
        inside = place is not None and any(
            span.line <= place.line <= span.end_line for span in spans
        )
        if finding.evidence or not (inside and family_of(finding.rule).at_run_time):
            yield finding
