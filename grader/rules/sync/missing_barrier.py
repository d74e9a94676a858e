"""SYN002: threads use shared memory without meeting in between."""

from __future__ import annotations

from collections.abc import Iterator

from grader.records import Context, Evidence, Finding
from grader.records.observed import observed
from grader.rules.proofs import settle
from grader.rules.rule import Rule
from grader.source import Source
from grader.source.analysis.walks import Case, cases, spans
from grader.source.flow import Event
from grader.source.rewriting.barriers import separate

KINDS = ("race-raw", "race-war", "race-waw")


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for conflicting accesses of one barrier interval, by threads of different warps."""
    found: dict[tuple[str, str], tuple[str, Finding]] = {}
    for case in cases(source, context):
        for event in case.events(*KINDS):
            if event.data["same_warp"] or event.region is None:
                continue
            key = (case.kernel, event.region.name)
            if key not in found:
                found[key] = (case.kernel, _finding(case, event))
    seen = _evidence(source, context)
    yield from settle(RULE, tuple(found.values()), seen, spans(source))


def _evidence(source: Source, context: Context) -> tuple[Evidence, ...]:
    """Return the races that runs showed, and unfilled reads that are races by the text."""
    every = cases(source, context)
    races = {case.line(e.node) for case in every for e in case.events("race-raw")}
    unfilled = {case.line(e.node) for case in every for e in case.events("uninit-shared-read")}
    late = tuple(
        item
        for item in observed(context, "uninit")
        if item.place is not None and item.place.line in races - unfilled
    )
    same_warp = {
        case.line(node)
        for case in every
        for e in case.events(*KINDS)
        if e.data["same_warp"]
        for node in (e.node, e.other)
    }
    races_seen = tuple(
        item
        for item in observed(context, "race")
        if item.place is None or item.place.line not in same_warp - races
    )
    return races_seen + late


def _finding(case: Case, event: Event) -> Finding:
    name = event.region.name if event.region is not None else "shared memory"
    here, there = case.line(event.node), case.line(event.other)
    where = "on the same line" if here == there else f"on line {there}"
    if event.kind == "race-raw":
        message = (
            f"threads read `{name}` before others are sure to have written it {where}: a "
            "`__syncthreads()` is missing"
        )
    elif event.kind == "race-war":
        message = (
            f"threads overwrite `{name}` while others may still be reading it {where}: a "
            "`__syncthreads()` is missing"
        )
    else:
        message = (
            f"different threads store different values to the same cell of `{name}` (lines {there} and {here}) without a barrier between: "
            "which one stays is chance"
        )
    first = event.other if event.other is not None else event.node
    return RULE.finding(
        case.place(event.node),
        message,
        fixes=separate(case.unit, first, event.node),
        kernels=(case.kernel,),
    )


_BAD = """
__global__ void blur(const float* x, float* y, int n) {
    __shared__ float s[256];
    int i = blockIdx.x * 256 + threadIdx.x;
    s[threadIdx.x] = i < n ? x[i] : 0.0f;
    int other = threadIdx.x ^ 64;
    if (i < n) y[i] = s[threadIdx.x] + s[other];
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    blur<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
"""
RULE = Rule(
    code="SYN002",
    name="missing-barrier",
    severity="error",
    summary="One thread reads a shared value before another has surely written it, or overwrites it while others still read it.",
    why="The warps of a block run at their own pace. Only a barrier that all of them reach makes what one has stored visible to the "
    "others, and only a barrier keeps a fast warp from overwriting what a slow one still has to read. Without it the result depends "
    "on timing.",
    bad=_BAD,
    good=_BAD.replace("    int other", "    __syncthreads();\n    int other"),
    detects=("text", "evidence"),
    guards="Accesses of one thread, of one warp (SYN005), ordered by `__syncwarp`, or under a condition on data are not reported, nor "
    "threads that store the same value. A race that the simulator did not see in a kernel that it ran to its end is dropped.",
    fix="Puts `__syncthreads()` where all threads arrive between the two accesses, or at the end of the loop's turn; "
    "lets one thread store what all store to one cell.",
    check=check,
)
