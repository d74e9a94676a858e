"""MEM012: a kernel that a run showed to stop itself, or never to end."""

from collections.abc import Iterator

from grader.records.observed import observed_evidence
from grader.rules import Context, Evidence, Finding, Source, rule_of


def check(_source: Source, context: Context) -> Iterator[Finding]:
    """Report each kind of stop once, and each line that threads never leave."""
    kept: dict[str | int, list[Evidence]] = {}
    for item in observed_evidence(context, "stop"):
        kept.setdefault(item.code, []).append(item)
    for item in observed_evidence(context, "endless"):
        kept.setdefault(item.place.line if item.place else 0, []).append(item)
    for items in kept.values():
        yield RULE.finding(items[0].place, items[0].text, evidence=items)


RULE = rule_of(__file__, check, predicts="traps")
