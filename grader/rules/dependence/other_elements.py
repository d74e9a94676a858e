"""DEP003: a result is made of other elements than it depends on."""

from collections.abc import Iterator

from grader.records import Context, Dependence, Evidence, Extent, Finding, Place
from grader.records.observed import beside, differences
from grader.rules.rule import Rule, shown
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


_CODE = """
__global__ void second_column(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i * 2];
}
"""

RULE = Rule(
    code="DEP003",
    name="other-elements-read",
    summary="A result is made of other elements of an input than the task's reference makes it of.",
    why="Strides of another tensor, two indices that are swapped, an offset that is missing or one too large: the "
    "line reads memory that is there, so nothing stops, and the values belong to another place. The run says "
    "which elements came, and the reference's gradient which ones should have.",
    bad=shown(
        _CODE,
        Evidence(
            kind="provenance",
            code="other-elements",
            text="element [1] of the result misses index 3 of input 1; in its place it has index 2",
            place=Place(line=7, end_line=7),
            details=Dependence(
                element=(1,),
                tensor="input 1",
                extents=(Extent(first=3, last=3, step=1, count=1, size=8),),
                count=1,
                expected=1,
                read=True,
            ),
        ),
    ),
    good=_CODE,
    detects=("evidence",),
    guards="Elements that are read and have no part in the gradient count only where right elements have none of "
    "them: a maximum looks at all and depends on one.",
    check=check,
)
