"""Fixes of threads that leave before a barrier: they stay in the block, without a place in the data."""

from __future__ import annotations

from collections.abc import Iterator

from grader.records import Context, Finding, Fix
from grader.records.observed import kernel_of
from grader.repair.fixes.maker import FixMaker
from grader.source import Source
from grader.source.analysis.walks import cases, spans
from grader.source.rewriting.late_return import stay_for_the_barrier


def propose(finding: Finding, source: Source, context: Context) -> Iterator[Fix]:
    """Yield the ways to keep the threads in the kernels of a finding that a run alone shows."""
    kernels = {kernel_of(item, spans(source)) for item in finding.evidence}
    for case in cases(source, context) if not finding.fixes else ():
        if case.kernel in kernels:
            yield from stay_for_the_barrier(case)


FIX = FixMaker(codes=("SYN003",), propose=propose, order=1)
