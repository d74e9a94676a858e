"""PRF009: very many threads add to the same address."""

from collections.abc import Iterator

from grader.records import Context, Finding
from grader.rules.rule import Rule, hosted
from grader.source import Source
from grader.source.analysis.walks import cases


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for atomics on one address by more than one lane of a warp."""
    seen: set[int] = set()
    for case in cases(source, context):
        for access in case.walk.accesses:
            if access.kind != "atomic" or access.node.id in seen or not access.sure:
                continue
            if case.walk.threads > 1 and case.stride(access) == 0:
                seen.add(access.node.id)
                yield RULE.finding(
                    case.place(access.node),
                    f"neighbouring threads of each block ({case.walk.threads} threads) add to one and the same element of "
                    f"`{access.region.name}`, one after another; a sum over the block first would leave one atomic",
                    kernels=(case.kernel,),
                )


_BAD = hosted("""
__global__ void total(const float* x, float* s, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(s, x[i]);
}
auto y = torch::zeros({1}, x.options());
total<<<(x.numel() + 255) / 256, 256>>>($x, $y, x.numel());
""")
RULE = Rule(
    code="PRF009",
    name="atomic-contention",
    severity="warning",
    summary="Very many threads add to the same address; they queue up and the kernel becomes serial.",
    why="Atomics on one address are done one after another. Sum inside the block first, then let "
    "one thread add the block's sum: a 256th of the atomics.",
    bad=_BAD,
    good=_BAD.replace(
        "if (i < n) atomicAdd(s, x[i]",
        "float v = i < n ? x[i] : 0.0f;\n"
        "    for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffff, v, o);\n"
        "    if (threadIdx.x % 32 == 0) atomicAdd(s, v",
    ),
    languages=("cuda",),
    guards="One atomic a warp or a block, and targets that are spread, are fine.",
    check=check,
)
