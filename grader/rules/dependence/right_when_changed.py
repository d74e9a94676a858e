"""DEP006: under one small change of a line, all results are right."""

from collections.abc import Iterator

from grader.records import Context, Counterfactual, Evidence, Finding, Place
from grader.records.observed import wrong_results
from grader.rules.rule import Rule, shown
from grader.source import Source
from grader.source.analysis.counterfactual import say_change


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Name the line of the change that a run proved, and what it changes."""
    for item in context.seen("provenance"):
        if isinstance(item.details, Counterfactual) and item.place is not None:
            yield RULE.finding(
                item.place,
                f"{say_change(source, item.place, item.details)}; with that, all results that were looked at are right",
                confidence="proven",
                evidence=[item, *wrong_results(context)[:1]],
            )


_CODE = """
__global__ void mean(const float* x, float* y, int n) {
    float s = 0.0f;
    for (int i = 1; i < n; ++i) s += x[i];
    y[0] = s / n;
}
"""

RULE = Rule(
    code="DEP006",
    name="right-when-changed",
    summary="The results are right once one small thing in this line is another.",
    why="What makes a wrong result right is its cause. A program whose results are wrong runs again on the simulator, "
    "hundreds of times, each time with one small change of its compiled code: another comparison, operator, constant or "
    "operand, a condition that always or never holds, a value that is multiplied or shifted once more. A change under "
    "which the results of several workloads are all right says in which line the cause is, and what it is.",
    bad=shown(
        _CODE,
        Evidence(
            kind="provenance",
            code="counterfactual",
            text="with another constant in line 4 all results are right",
            place=Place(line=4, end_line=4),
            details=Counterfactual(change="constant", before="1", after="0", right_before=0.0),
        ),
    ),
    good=_CODE,
    detects=("evidence",),
    guards="Only where the results of all workloads that were tried are right under the change; the reference's values "
    "are compared outside of the process that runs it.",
    check=check,
)
