"""MEM012: a kernel stopped itself in a run."""

from collections.abc import Iterator

from grader.records import Context, Evidence, Finding
from grader.records.observed import observed
from grader.rules.rule import Example, Rule
from grader.source import Source


def check(_source: Source, context: Context) -> Iterator[Finding]:
    """Report each kind of stop once."""
    kept: dict[str, list[Evidence]] = {}
    for item in observed(context, "stop"):
        kept.setdefault(item.code, []).append(item)
    for items in kept.values():
        yield RULE.finding(items[0].place, items[0].text, evidence=items)


_CODE = """
__global__ void mark(float* y, int n) {
    assert(n < 10);
    y[threadIdx.x] = n;
}
"""

RULE = Rule(
    code="MEM012",
    name="kernel-stops-itself",
    summary="A device-side assertion fails, a trap is executed, or calls nest too deeply: the kernel stops and the context is lost.",
    why="After a trap every later CUDA call of the process fails. Find out which thread's values break the assertion; the run names the "
    "line.",
    bad=Example(
        _CODE,
        Context(
            evidence=(
                Evidence(
                    kind="simulator", code="assert", text="A device-side assertion fails: n < 10."
                ),
            )
        ),
    ),
    good=_CODE,
    detects=("evidence",),
    guards="Only what a run has shown.",
    check=check,
    predicts="traps",
)
