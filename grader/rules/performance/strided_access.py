"""PRF002: neighbouring threads read far-apart addresses."""

from collections.abc import Iterator

from grader.records import Context, Finding
from grader.rules.rule import Rule, hosted
from grader.source import Source
from grader.source.analysis.traffic import Reach, far_reaching


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for accesses far from lane to lane: by threads that walk a row each, and all that take four times the sectors."""
    for wanted, said in ((_walks, "each thread walks a row of its own: "), (_reaches, "")):
        for far in far_reaching(source, context, wanted):
            more = f" (and on line {far.more})" if far.others else ""
            yield RULE.finding(
                far.place,
                f"{said}neighbouring threads are {far.stride} apart in `{far.first.access.region.name}` on line {far.line}{more}: a warp touches "
                f"{far.moved_sectors}",
                confidence=far.confidence,
                evidence=far.proof,
                kernels=(far.case.kernel,),
                cause=far.cause,
                root_cause=wanted is _walks,
                access=far.access,
            )


def _walks(reach: Reach) -> bool:
    """Whether a thread moves by one element a turn, along a row that others don't share."""
    return reach.access.kind == "load" and abs(reach.turn) == 1 and reach.stride > 8


def _reaches(reach: Reach) -> bool:
    return reach.sectors >= 4 * reach.ideal and abs(reach.turn) != 1 and reach.stride > 8


_ROWS = hosted("""
__global__ void sums(const float* x, float* y, int rows, int dim) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float s = 0.0f;
    for (int i = 0; i < dim; ++i) s += x[r * dim + i];
    y[r] = s;
}
sums<<<(x.size(0) + 255) / 256, 256>>>($x, $y, x.size(0), x.size(1));
""")
_STRIDED = hosted("""
__global__ void sums(const float* x, float* y, int C, int HW) {
    float s = 0.0f;
    for (int c = threadIdx.x; c < C; c += blockDim.x)
        s += x[(blockIdx.x * C + c) * HW + blockIdx.y];
    y[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
dim3 grid(x.size(0), x.size(2));
sums<<<grid, 64>>>($x, $y, x.size(1), x.size(2));
""")
RULE = Rule(
    code="PRF002",
    formerly=("PRF001",),
    name="strided-access-between-lanes",
    severity="warning",
    summary="Neighbouring threads read addresses that are far apart, so each 32-byte sector delivers one useful number.",
    why="Memory moves 32 bytes at a time. threadIdx.x should run along the axis whose elements lie next to each other: give the contiguous axis to "
    "the threads and loop over the strided one. Where each thread reads a row of its own, let a block (or a warp) share the row: thread t takes "
    "elements t, t + blockDim.x, and so on.",
    bad=(_ROWS, _STRIDED),
    good=(
        _ROWS.replace("x[r * dim + i]", "x[i * rows + r]"),
        _STRIDED.replace(
            "for (int c = threadIdx.x; c < C; c += blockDim.x)\n"
            "        s += x[(blockIdx.x * C + c) * HW + blockIdx.y];\n"
            "    y[blockIdx.x * blockDim.x + threadIdx.x",
            "int p = blockIdx.y * blockDim.x + threadIdx.x;\n"
            "    if (p >= HW) return;\n"
            "    for (int c = 0; c < C; ++c) s += x[(blockIdx.x * C + c) * HW + p];\n"
            "    y[blockIdx.x * HW + p",
        ).replace("0), x.size(2)", "0), (x.size(2) + 63) / 64"),
    ),
    detects=("text", "evidence"),
    languages=("cuda",),
    guards="Rows of at most 8 elements, column-major layouts, and small strides, whose sectors the neighbours use soon after, are fine. Addresses that "
    "can not be followed are left to the simulator's counts.",
    check=check,
)
