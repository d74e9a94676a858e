"""SYN006: a block uses results of other blocks of the same launch."""

from collections.abc import Iterator

from grader.records.observed import observed_evidence
from grader.rules import Context, Evidence, Finding, Source, rule_of
from grader.rules.proofs import report_by_line
from grader.source.analysis.races import is_within_program


def check(_source: Source, context: Context) -> Iterator[Finding]:
    """Report races between blocks, and blocks that wait for each other, once for each line."""
    proof = (*_inside(context), *observed_evidence(context, "grid"))
    yield from report_by_line(RULE, proof)


def _inside(context: Context) -> Iterator[Evidence]:
    """Yield the races, except for accesses that ran out of their own buffer into another one."""
    outside = {
        item.place.line for item in observed_evidence(context, "oob") if item.place is not None
    }
    for item in observed_evidence(context, "global-race"):
        lines = {place.line for place in (item.place, *item.related) if place is not None}
        if not lines & outside and not is_within_program(item):
            yield item


RULE = rule_of(__file__, check)
