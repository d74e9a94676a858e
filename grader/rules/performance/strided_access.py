"""PRF002: neighbouring threads read far-apart addresses."""

from collections.abc import Iterator

from grader.records import Context, Finding
from grader.rules.rule import Rule
from grader.source import Source
from grader.source.analysis.traffic import Reach, far_reaching


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for accesses that take four times the sectors that they need, or more."""
    for far in far_reaching(source, context, _wanted):
        more = f" (and on line {far.more})" if far.others else ""
        yield RULE.finding(
            far.place,
            f"neighbouring threads are {far.stride} apart in `{far.first.access.region.name}` on line {far.line}{more}: a warp touches "
            f"{far.moved_sectors}",
            confidence=far.confidence,
            evidence=far.proof,
            kernels=(far.case.kernel,),
            cause=far.cause,
            access=far.access,
        )


def _wanted(reach: Reach) -> bool:
    return reach.sectors >= 4 * reach.ideal and abs(reach.turn) != 1 and reach.stride > 8


_BAD = """
__global__ void sums(const float* x, float* y, int C, int HW) {
    float s = 0.0f;
    for (int c = threadIdx.x; c < C; c += blockDim.x)
        s += x[(blockIdx.x * C + c) * HW + blockIdx.y];
    y[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    dim3 grid(x.size(0), x.size(2));
    sums<<<grid, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1), x.size(2));
    return y;
}
"""
RULE = Rule(
    code="PRF002",
    name="strided-access-between-lanes",
    severity="warning",
    summary="Neighbouring threads read addresses that are far apart, so each 32-byte sector delivers one useful number.",
    why="threadIdx.x should run along the axis whose elements lie next to each other. Where it runs along another axis, give the "
    "contiguous axis to the threads and loop over the strided one.",
    bad=_BAD,
    good=_BAD.replace(
        "for (int c = threadIdx.x; c < C; c += blockDim.x)\n"
        "        s += x[(blockIdx.x * C + c) * HW + blockIdx.y];\n"
        "    y[blockIdx.x * blockDim.x + threadIdx.x",
        "int p = blockIdx.y * blockDim.x + threadIdx.x;\n"
        "    if (p >= HW) return;\n"
        "    for (int c = 0; c < C; ++c) s += x[(blockIdx.x * C + c) * HW + p];\n"
        "    y[blockIdx.x * HW + p",
    ).replace("0), x.size(2)", "0), (x.size(2) + 63) / 64"),
    detects=("text", "evidence"),
    languages=("cuda",),
    guards="Small strides, whose sectors the neighbours use soon after, are not reported; a thread that walks a row is PRF001.",
    check=check,
)
