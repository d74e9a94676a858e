"""SYN008: several threads store one value in one place, which a run saw to be harmless."""

from collections.abc import Iterator

from grader.records import Context, Evidence, Finding, Place
from grader.records.observed import observed
from grader.rules.rule import Example, Rule
from grader.source import Source


def check(_source: Source, context: Context) -> Iterator[Finding]:
    """Report each line once; where the same line races with other values, that race is all there is to say."""
    racing = {item.place.line for item in observed(context, "race", "global-race") if item.place}
    kept: dict[int, list[Evidence]] = {}
    for item in observed(context, "same-value"):
        if item.place is not None and item.place.line not in racing:
            kept.setdefault(item.place.line, []).append(item)
    for items in kept.values():
        message = "several threads store the same value here without a barrier between: benign, since it stays whichever store is the last"
        yield RULE.finding(items[0].place, message, evidence=items)


_CODE = """
__global__ void any_negative(const float* x, int* found, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] < 0.0f) found[0] = 1;
}
"""

RULE = Rule(
    code="SYN008",
    name="same-value-stores",
    severity="note",
    summary="Threads store the same value in the same place with nothing that orders them.",
    why="Two stores without a barrier between are a data race by the rules of C++. Where all of them store one value, hardware keeps "
    "that value whatever the order, so the race is benign and the verdict stays as it is. It stops to be one as soon as one of the "
    "values differs. A store by one thread, or an atomic, says what is meant.",
    bad=Example(
        _CODE,
        Context(
            evidence=(
                Evidence(
                    kind="simulator",
                    code="same-value-race",
                    text="thread (5,0,0) stores the value that thread (2,0,0) has stored there",
                    place=Place(line=4, end_line=4, language="cuda"),
                ),
            )
        ),
    ),
    good=_CODE,
    detects=("evidence",),
    guards="Only what a run has shown, and not on a line whose stores also differ.",
    check=check,
    predicts="nothing",
)
