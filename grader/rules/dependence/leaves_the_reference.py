"""DEP005: a line gives another value than the reference comes by, and all before it are the reference's."""

from collections.abc import Iterator

from grader.records import Constant, Context, Evidence, Finding, Place, Slice, WrongValues
from grader.records.observed import dependence_differs, wrong_results
from grader.rules.rule import Rule, shown
from grader.source import Source
from grader.source.analysis.on_the_way import on_the_way

NO_FORMULA = frozenset({"half-precision", "probe-kept", "probe-unsteady"})
"""What is no matter of one line's value: rounding, and what one call leaves to the next."""


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Say which line it is, where the run met values of the reference on the way."""
    wrong = wrong_results(context)
    rounded = all(item.code in NO_FORMULA for item in wrong)
    if rounded or dependence_differs(context) or any(i.code.startswith("probe-k") for i in wrong):
        return
    patterns = [item for item in wrong if item.kind == "mismatch"]
    first = next(
        (i for i in patterns if i.code in {"constant-factor", "constant-offset"}), wrong[0]
    )
    made = on_the_way(source, context, first)
    if made is None or not made.certain:
        return
    slices = [item for item in context.seen("provenance") if item.code == "slice"]
    yield RULE.finding(
        made.place,
        made.words,
        confidence="proven",
        evidence=[*(item for item in wrong if item.code == first.code), *slices],
        cause="value",
        last_resort=True,
    )


_CODE = """
__global__ void mean(const float* x, float* y, int n) {
    float s = 0.0f;
    for (int i = 0; i < n; ++i) s += x[i];
    y[0] = s / (n + 1);
}
"""

RULE = Rule(
    code="DEP005",
    name="leaves-the-reference",
    summary="A line computes another value than the reference comes by, from values that are still right.",
    why="The result depends on the elements that it should, so what is wrong is the formula: a term, a factor, a "
    "constant, an operator, an operand, a start value. The run keeps what each line gave on the way to a wrong "
    "element, and the reference's own steps (a mean, a sum of exponentials, a root) say which of these values it "
    "comes by as well. The first that it doesn't come by is where the formula departs.",
    bad=shown(
        _CODE,
        Evidence(
            kind="mismatch",
            code="constant-offset",
            text="the wrong are off by +1 each",
            details=WrongValues(offset=1.0),
        ),
        Evidence(
            kind="provenance",
            code="slice",
            text="element [0] of the result is computed in lines 8, 9 and stored in line 9",
            place=Place(line=9, end_line=9),
            details=Slice(
                element=(0,),
                computed=(8, 9),
                stored=9,
                right=(8,),
                constants=(Constant(line=7, used=8, value=0.0),),
            ),
        ),
    ),
    good=_CODE,
    detects=("evidence",),
    guards="Only where at least one value on the way is the reference's (or the number that all results are off by "
    "stands in the text): a program that comes to the result in another way has no such values. A value from which "
    "one of the reference's is made counts as right.",
    check=check,
)
