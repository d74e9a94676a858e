"""What wrong results say about reductions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from grader.records import Context, Evidence, Finding

CODES = frozenset(
    {"constant-factor", "row-factor", "zeros", "one-value", "constant-offset", "partial"}
)


def result_evidence(context: Context) -> tuple[Evidence, ...]:
    """Return the patterns of wrong values that a lost part of a sum leaves."""
    return tuple(
        item
        for item in context.evidence
        if item.kind in {"mismatch", "probe"} and item.code in CODES
    )


def settled(
    found: Iterable[tuple[str, Finding]], evidence: Sequence[Evidence]
) -> Iterator[Finding]:
    """Attach the wrong result's pattern to what the text says; alone it proves no line."""
    for _, finding in found:
        if evidence:
            yield finding.model_copy(update={"evidence": (*finding.evidence, *evidence)})
        else:
            yield finding
