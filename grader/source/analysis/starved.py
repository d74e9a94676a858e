"""Reads of shared memory that threads which returned early never stored."""

from collections.abc import Mapping

from grader.records import Context, Evidence
from grader.records.observed import kernel_of, observed_evidence
from grader.source import Source
from grader.source.analysis.cases import spans


def starved_reads(source: Source, context: Context) -> Mapping[str, tuple[Evidence, ...]]:
    """Return the unwritten reads seen in runs where threads had returned, by kernel."""
    lines = spans(source)
    left = {kernel_of(item, lines) for item in observed_evidence(context, "exited")}
    if not left:
        return {}
    found: dict[str, tuple[Evidence, ...]] = {}
    for item in observed_evidence(context, "uninit"):
        kernel = kernel_of(item, lines)
        if kernel in left:
            found[kernel] = (*found.get(kernel, ()), item)
    return found
