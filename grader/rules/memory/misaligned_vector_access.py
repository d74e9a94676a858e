"""MEM007: vectors are read from addresses that aren't multiples of their size, as a run showed."""

from collections.abc import Iterator

from grader.records import Context, Finding
from grader.records.observed import observed_evidence
from grader.rules.page_file import read_page
from grader.rules.proofs import reported
from grader.rules.rule import Rule
from grader.source import Source


def check(_source: Source, context: Context) -> Iterator[Finding]:
    """Report each line with such an access once."""
    yield from reported(RULE, observed_evidence(context, "misaligned"))


RULE = Rule(**read_page(__file__), detects=("evidence",), check=check, predicts="traps")
