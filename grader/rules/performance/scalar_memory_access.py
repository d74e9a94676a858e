"""PRF007: numbers are loaded one at a time."""

from collections.abc import Iterator

from grader.records import Context, Finding
from grader.rules.rule import Rule, hosted
from grader.source import Source
from grader.source.analysis.traffic import reaches
from grader.source.analysis.walks import cases
from grader.source.flow.scalar_types import SIZES


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for streaming loops over neighbouring floats."""
    seen: set[str] = set()
    for case in cases(source, context):
        if case.kernel in seen or case.walk.vectors or (case.launch.block[0] or 1) < 32:
            continue
        for reach in reaches(case):
            size = SIZES.get(reach.access.region.type, 4)
            plain = reach.stride == 1 and reach.access.scale == 1 and size <= 4
            if reach.access.kind == "load" and plain and reach.access.loops and reach.turn >= 32:
                seen.add(case.kernel)
                yield RULE.finding(
                    case.place(reach.access.node),
                    f"`{reach.access.region.name}` is read one number at a time; four at once (float4) need a quarter of the load "
                    "instructions, where the address is a multiple of 16 bytes",
                    confidence="possible",
                    kernels=(case.kernel,),
                    folded=True,
                )
                break


_BAD = hosted("""
__global__ void relu(const float* x, float* y, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = x[i] > 0.0f ? x[i] : 0.0f;
}
relu<<<1, 256>>>($x, $y, x.numel());
""")
RULE = Rule(
    code="PRF007",
    name="scalar-memory-access",
    severity="note",
    summary="Numbers are loaded one at a time; reading four at once needs fewer instructions for the same data.",
    why="A float4 load moves 16 bytes with one instruction. It needs addresses that are multiples"
    " of 16 and a tail for the rest; a kernel that is bound by memory gains up to a tenth.",
    bad=_BAD,
    good=_BAD.replace(
        "* x, float* y, int n) {\n"
        "    for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = x[i] > 0.0f ? x[i] : 0.0f",
        "4* x, float4* y, int n) {\n"
        "    for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = x[i]",
    ).replace(
        "x.data_ptr<float>(), y.data_ptr<float>(), x.numel()",
        "\n"
        "        reinterpret_cast<const float4*>(x.data_ptr<float>()),\n"
        "        reinterpret_cast<float4*>(y.data_ptr<float>()), x.numel() / 4",
    ),
    languages=("cuda",),
    guards="Odd row lengths need a head and a tail, and the gain is small: a folded note.",
    check=check,
)
