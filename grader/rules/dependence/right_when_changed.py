"""DEP006: under one small change of a line, all results are right."""

from collections.abc import Iterator

from grader.records import Context, Counterfactual, Finding
from grader.records.observed import wrong_results
from grader.rules.page_file import read_page
from grader.rules.rule import Rule
from grader.source import Source
from grader.source.analysis.counterfactual import say_change


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Name the line of the change that a run proved, and what it changes."""
    for item in context.seen("provenance"):
        if isinstance(item.details, Counterfactual) and item.place is not None:
            yield RULE.finding(
                item.place,
                say_change(source, item.place, item.details),
                confidence="proven",
                root_cause=True,
                evidence=[item, *wrong_results(context)[:4]],
            )


RULE = Rule(**read_page(__file__), detects=("evidence",), check=check)
