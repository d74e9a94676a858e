"""DEP003: a result is made of other elements than it depends on."""

from collections.abc import Iterator

from grader.records import Context, Finding
from grader.records.observed import beside, differences
from grader.rules.page_file import read_page
from grader.rules.rule import Rule
from grader.source import Source
from grader.source.analysis.steering import index_made, python_index_made

MEANING = {
    "other-elements": "the index is another than it must be",
    "doubled": "several threads, or turns of a loop, take the same elements",
    "extra": "the loop or the condition around it goes too far, or the index is another than it must be",
}


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Say which line reads what the result should not be made of."""
    for item, gap in differences(context, *MEANING):
        made = python_index_made if item.place and item.place.language == "python" else index_made
        start = made(source, item.place, gap.walk) if item.place else None
        where = f": `{start.excerpt}` says where it begins" if start else ""
        yield RULE.finding(
            start or item.place,
            f"{item.text}: {MEANING[item.code]}{where}",
            confidence="proven",
            evidence=[item, *beside(context, gap)],
            cause="dependence",
            last_resort=True,
        )


RULE = Rule(**read_page(__file__), detects=("evidence",), check=check)
