"""PRF001: each thread reads a whole row by itself."""

from collections.abc import Iterator

from grader.records import Context, Finding
from grader.rules.rule import Rule
from grader.source import Source
from grader.source.analysis.traffic import Reach, far_reaching


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for loads that move by one element a turn, and far from lane to lane."""
    for far in far_reaching(source, context, _wanted):
        more = f" (also on line {far.more})" if far.others else ""
        yield RULE.finding(
            far.place,
            f"each thread walks a row of its own: neighbouring lanes are {far.stride} apart on line {far.line}{more}, so a warp's load "
            f"touches {far.moved_sectors}",
            confidence=far.confidence,
            evidence=far.proof,
            kernels=(far.case.kernel,),
            cause=far.cause,
            access=far.access,
        )


def _wanted(reach: Reach) -> bool:
    return reach.access.kind == "load" and abs(reach.turn) == 1 and reach.stride > 8


_BAD = """
__global__ void sums(const float* x, float* y, int rows, int dim) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float s = 0.0f;
    for (int i = 0; i < dim; ++i) s += x[r * dim + i];
    y[r] = s;
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    sums<<<(x.size(0) + 255) / 256, 256>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), x.size(0), x.size(1));
    return y;
}
"""
RULE = Rule(
    code="PRF001",
    name="one-thread-walks-a-row",
    severity="warning",
    summary="Each thread reads a whole row by itself; neighbouring threads touch far-apart addresses and the memory bus is mostly wasted.",
    why="Memory moves 32 bytes at a time. When lane t of a warp reads element t * dim, each of the 32 lanes needs a 32-byte sector of "
    "its own and uses 4 bytes of it. Let a block (or a warp) share the row: thread t takes elements t, t + blockDim.x, and so on.",
    bad=_BAD,
    good=_BAD.replace("x[r * dim + i]", "x[i * rows + r]"),
    detects=("text", "evidence"),
    languages=("cuda",),
    guards="Rows of at most 8 elements, and column-major layouts, are fine. Addresses that can not "
    "be followed are left to the simulator's counts.",
    check=check,
)
