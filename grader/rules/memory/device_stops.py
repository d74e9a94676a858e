"""MEM012: a kernel that a run showed to stop itself, or never to end."""

from collections.abc import Iterator

from grader.records import Context, Evidence, Finding, Prediction
from grader.records.observed import observed_evidence
from grader.rules.rule import Rule, shown
from grader.source import Source


def check(_source: Source, context: Context) -> Iterator[Finding]:
    """Report each kind of stop once, and each line that threads never leave."""
    kept: dict[str | int, list[Evidence]] = {}
    for item in observed_evidence(context, "stop"):
        kept.setdefault(item.code, []).append(item)
    for item in observed_evidence(context, "endless"):
        kept.setdefault(item.place.line if item.place else 0, []).append(item)
    for items in kept.values():
        endless = items[0].code == "livelock"
        predicts: Prediction = "barrier" if endless else "traps"
        yield RULE.finding(items[0].place, items[0].text, evidence=items, predicts=predicts)


_ASSERT = """
__global__ void mark(float* y, int n) {
    assert(n < 10);
    y[threadIdx.x] = n;
}
"""
_WAIT = """
__global__ void wait(const int* ready, float* y) {
    while (atomicAdd((int*)ready, 0) == 0) {}
    y[threadIdx.x] = 1.0f;
}
"""
RULE = Rule(
    code="MEM012",
    formerly=("SYN007",),
    name="kernel-stops-or-never-ends",
    summary="A device-side assertion fails, a trap is executed or calls nest too deeply, so the context is lost; or a loop never ends: its threads "
    "repeat the same state, and no running thread can change what they wait for.",
    why="After a trap every later CUDA call of the process fails; the run names the line. A kernel that waits for a value needs somebody who is "
    "running and will write it: another block may not have begun, and threads of the same warp may not go on before this loop ends. Let a second "
    "kernel do what comes after, or the last block that a counter finds. A loop over data needs a step that moves towards its bound.",
    bad=(
        shown(
            _ASSERT,
            Evidence(
                kind="simulator", code="assert", text="A device-side assertion fails: n < 10."
            ),
        ),
        shown(
            _WAIT,
            Evidence(
                kind="simulator",
                code="livelock",
                text="the threads of block (0,0,0) go on forever without changing anything",
            ),
        ),
    ),
    good=_ASSERT,
    detects=("evidence",),
    guards="Only what a run has shown.",
    check=check,
    predicts="traps",
)
