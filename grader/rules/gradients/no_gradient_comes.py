"""GRD001: autograd gets no gradient for a requested tensor."""

from collections.abc import Iterator

from grader.records import MissingGradient
from grader.rules import Context, Finding, Source, rule_of
from grader.source.analysis.backward_code import backwards, where_gradients_are_made


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Report requested gradients that were not returned."""
    seen = [e for e in context.evidence_of("mismatch") if isinstance(e.details, MissingGradient)]
    for first in seen[:1]:
        node = where_gradients_are_made(source)
        place = source.place(node) if node is not None else None
        said = first.text
        if any(backwards(source)) and isinstance(first.details, MissingGradient):
            said = f"no gradient of {first.details.of} came: backward gives none for it, or it is no argument of the function's call"
        yield RULE.finding(place, said, confidence="proven", evidence=seen)


RULE = rule_of(__file__, check)
