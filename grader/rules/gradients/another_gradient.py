"""GRD002: a gradient is another input's, is the upstream gradient, or lacks it as a factor."""

from collections.abc import Iterator

from grader.records import OtherGradient
from grader.rules import Context, Evidence, Finding, Source, rule_of
from grader.source.analysis.backward_code import where_gradients_are_made


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Report wrong gradients that equal another known tensor."""
    node = where_gradients_are_made(source)
    place = source.place(node) if node is not None else None
    found: dict[tuple[str, str], list[Evidence]] = {}
    for item in context.evidence_of("mismatch"):
        if isinstance(item.details, OtherGradient):
            found.setdefault((item.details.of, item.details.equals), []).append(item)
    refused = [item for item in context.evidence if REFUSED in item.said]
    if refused:
        yield RULE.finding(
            place,
            f"autograd refuses what backward returns: {refused[0].said.split(REFUSED)[-1].strip()}; it wants a gradient for "
            "each argument of forward, in their order and of their shapes",
            confidence="proven",
            evidence=refused,
        )
    for (of, equals), seen in found.items():
        yield RULE.finding(
            place, f"the gradient of {of} {_say_equal(equals)}", confidence="proven", evidence=seen
        )


def _say_equal(equals: str) -> str:
    if equals == "upstream":
        return "is the upstream gradient itself: it is handed on as it came"
    if equals == "no upstream":
        return "lacks the upstream gradient as a factor: it is right only where that is 1, as after `sum().backward()`"
    return f"is the {equals}: backward returns them in another order than forward takes its arguments, or computes one twice"


REFUSED = "returned an invalid gradient"
"""Autograd's message on a gradient of another shape than its argument's."""
RULE = rule_of(__file__, check)
