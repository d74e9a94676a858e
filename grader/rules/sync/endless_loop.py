"""SYN007: a loop that a run proved to repeat the same state for ever."""

from collections.abc import Iterator

from grader.records import Context, Evidence, Finding
from grader.records.observed import observed
from grader.rules.rule import Example, Rule
from grader.source import Source


def check(_source: Source, context: Context) -> Iterator[Finding]:
    """Report each line once, with every run that never left it."""
    kept: dict[int, list[Evidence]] = {}
    for item in observed(context, "endless"):
        kept.setdefault(item.place.line if item.place else 0, []).append(item)
    for items in kept.values():
        yield RULE.finding(items[0].place, items[0].text, evidence=items)


_CODE = """
__global__ void wait(const int* ready, float* y) {
    while (atomicAdd((int*)ready, 0) == 0) {}
    y[threadIdx.x] = 1.0f;
}
"""

RULE = Rule(
    code="SYN007",
    name="endless-loop",
    summary="A loop never ends: its threads repeat the same state, and no running thread can change what they wait for.",
    why="A kernel that waits for a value needs somebody who is running and will write it: another block may not have begun, and threads "
    "of the same warp may not go on before this loop ends. A loop over data needs a step that moves towards its bound. Let a second "
    "kernel do what comes after, or let the last block that a counter finds do it.",
    bad=Example(
        _CODE,
        Context(
            evidence=(
                Evidence(
                    kind="simulator",
                    code="livelock",
                    text="the threads of block (0,0,0) go on forever without changing anything",
                ),
            )
        ),
    ),
    good=_CODE,
    detects=("evidence",),
    guards="Only what a run has shown.",
    check=check,
    predicts="barrier",
)
