"""SYN006: a block uses what other blocks of the same launch compute."""

from collections.abc import Iterator

from grader.records import Context, Evidence, Finding
from grader.records.observed import observed_evidence
from grader.rules.proofs import settle
from grader.rules.rule import Rule, hosted, shown
from grader.source import Source
from grader.source.analysis.races import is_within_program


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Report races between blocks, and blocks that wait for each other, once a line."""
    proof = (*_inside(context), *observed_evidence(context, "grid"))
    yield from settle(RULE, (), proof, source)


def _inside(context: Context) -> Iterator[Evidence]:
    """Yield the races, but of accesses that ran out of their own buffer into another one."""
    outside = {
        item.place.line for item in observed_evidence(context, "oob") if item.place is not None
    }
    for item in observed_evidence(context, "global-race"):
        lines = {place.line for place in (item.place, *item.related) if place is not None}
        if not lines & outside and not is_within_program(item):
            yield item


_BAD = hosted("""
__global__ void share(const float* x, float* total, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd(total, x[i]);
        y[i] = x[i] / *total;
    }
}
auto total = torch::zeros({1}, x.options());
share<<<(n + 255) / 256, 256>>>($x, total.data_ptr<float>(), $y, n);
""")
RULE = Rule(
    code="SYN006",
    name="cross-block-dependency",
    summary="One block uses a result of another block in the same launch; blocks run in no fixed order, so it may read an old value.",
    why="There is no barrier between the blocks of a launch. A total that all blocks collect is complete when the launch has ended: what "
    "needs it belongs into a second kernel (launches of one stream run in order), into the last block that a counter with "
    "`__threadfence()` finds, or behind a grid barrier of a cooperative launch.",
    bad=shown(
        _BAD,
        Evidence(
            kind="simulator",
            code="global-race",
            text="thread 0 of block 1 reads what thread 0 of block 0 wrote at line 5, in the same launch",
        ),
    ),
    good=_BAD.replace("        y[i] = x[i] / *total;\n", ""),
    detects=("evidence",),
    guards="Only what a run has shown; accesses that ran out of their own buffer into another one are MEM011's, and races between the warps of one Triton program SYN002's.",
    check=check,
    conditions="another order of the blocks",
)
