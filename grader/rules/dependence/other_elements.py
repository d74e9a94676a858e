"""DEP003: a result is computed from wrong elements."""

from collections.abc import Iterator

from grader.records.observed import beside, differences
from grader.records.provenance import Walk
from grader.rules import Context, Finding, Place, Source, rule_of
from grader.source.analysis.steering import element_chosen, index_made, python_index_made

MEANING = {
    "other-elements": "the index is wrong",
    "doubled": "several threads, or turns of a loop, take the same elements",
    "extra": "the loop or the condition around it goes too far, or the index is wrong",
}


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Report the line that reads elements which the result should not depend on."""
    found = list(differences(context, *MEANING))
    exchanged = {gap.tensor for _, gap in found if gap.walk == "exchanged"}
    for item, gap in found:
        start = _index_made(source, item.place, gap.walk, several=len(exchanged) > 1)
        where = f"; `{start.excerpt}` says where it begins" if start else ""
        yield RULE.finding(
            start or item.place,
            f"{MEANING[item.code]}: {item.text}{where}",
            confidence="proven",
            evidence=[item, *beside(context, gap)],
            cause="dependence",
            last_resort=True,
        )


def _index_made(source: Source, place: Place | None, walk: Walk, *, several: bool) -> Place | None:
    """Return the definition of the index, or the store, that selects the elements."""
    if place is None:
        return None
    if place.language == "python":
        return python_index_made(source, place, walk)
    chosen = element_chosen(source, place, several=several) if walk == "exchanged" else None
    return chosen or index_made(source, place, walk)


RULE = rule_of(__file__, check)
