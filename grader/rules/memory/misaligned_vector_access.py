"""MEM007: vectors are read from addresses that aren't multiples of their size, as a run showed."""

from collections.abc import Iterator

from grader.records.observed import observed_evidence
from grader.rules import Context, Finding, Source, rule_of
from grader.rules.proofs import report_by_line


def check(_source: Source, context: Context) -> Iterator[Finding]:
    """Report each line with such an access once."""
    yield from report_by_line(RULE, observed_evidence(context, "misaligned"))


RULE = rule_of(__file__, check, predicts="traps")
