"""What stored results hold of the parts that threads computed, and what wrong results say of that."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from grader.records import Context, Finding
from grader.source.analysis.walks import Case
from grader.source.flow.reduction import Loss, losses

CODES = frozenset(
    {"constant-factor", "row-factor", "zeros", "one-value", "constant-offset", "partial"}
)
"""The patterns of wrong values that a lost part of a sum leaves."""


def losses_of(case: Case) -> tuple[Loss, ...]:
    """Return the stores that hold less than all parts; none where shared memory was not filled, which explains them."""
    return () if any(case.events("uninit-shared-read")) else tuple(losses(case.walk))


def with_result(findings: Iterable[Finding], context: Context) -> Iterator[Finding]:
    """Attach the wrong result's pattern to what the text says; alone it proves no line."""
    seen = tuple(item for item in context.seen("mismatch", "probe") if item.code in CODES)
    for finding in findings:
        yield finding.model_copy(update={"evidence": (*finding.evidence, *seen)})
