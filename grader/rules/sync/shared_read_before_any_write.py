"""SYN001: unwritten shared memory is read."""

from collections.abc import Iterator

from grader.records.observed import kernel_of, observed_evidence
from grader.rules import Context, Evidence, Finding, Source, rule_of
from grader.rules.causes import cause_of
from grader.source.analysis.cases import spans
from grader.source.analysis.races import lines_of, starved_reads


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Report each kernel's reads of unwritten cells once."""
    found: dict[str, list[Evidence]] = {}
    for item in _unexplained_reads(source, context):
        found.setdefault(kernel_of(item, spans(source)), []).append(item)
    for items in found.values():
        yield RULE.finding(items[0].place, cause_of(items[0]), evidence=items)


def _unexplained_reads(source: Source, context: Context) -> Iterator[Evidence]:
    """Yield the reads that neither a race nor early returns explain."""
    races = lines_of(observed_evidence(context, "race"))
    starved = [item for items in starved_reads(source, context).values() for item in items]
    for item in observed_evidence(context, "uninit"):
        if (item.place is None or item.place.line not in races) and item not in starved:
            yield item


RULE = rule_of(__file__, check)
