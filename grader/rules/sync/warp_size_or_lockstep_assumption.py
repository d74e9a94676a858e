"""SYN005: code counts on the threads of a warp moving together."""

from collections.abc import Iterator

from grader.records import Context, Evidence, Finding, Place, Race
from grader.records.observed import observed
from grader.rules.proofs import settle
from grader.rules.rule import Example, Rule
from grader.source import Source
from grader.source.analysis.races import joined, of_one_warp
from grader.source.analysis.walks import spans
from grader.source.code_edits import fix
from grader.source.cuda_code import cuda_code

OLD = ("__shfl", "__shfl_down", "__shfl_up", "__shfl_xor", "__ballot", "__any", "__all")


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for conflicts inside one warp, and for shuffles of the old kind."""
    races = [items for items in joined(observed(context, "race")) if of_one_warp(source, items)]
    volatile = observed(context, "race-volatile")
    proof = [*(item for items in races for item in items), *volatile]
    yield from settle(RULE, (), proof, spans(source))
    yield from _old_shuffles(source)


def _old_shuffles(source: Source) -> Iterator[Finding]:
    for unit in source.cuda:
        for call in cuda_code(unit).calls:
            if call.name in OLD and call.object is None:
                start = call.node.start_byte
                edit = unit.edit(
                    start, start + len(call.name) + 1, f"{call.name}_sync(0xffffffff, "
                )
                yield RULE.finding(
                    unit.place(call.node),
                    f"`{call.name}` without `_sync` no longer exists on today's GPUs; it trusted that the threads of a warp move "
                    "together",
                    fixes=fix("use the synchronising form", [edit]),
                )


_BAD = """
__global__ void tail(const float* x, float* y) {
    __shared__ float s[64];
    int tid = threadIdx.x;
    s[tid] = x[tid];
    __syncthreads();
    if (tid < 32) {
        s[tid] += s[tid + 32];
        s[tid] += s[tid + 16];
        s[tid] += s[tid + 8];
    }
    if (tid == 0) y[0] = s[0];
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty({1}, x.options());
    tail<<<1, 64>>>(x.data_ptr<float>(), y.data_ptr<float>());
    return y;
}
"""
RULE = Rule(
    code="SYN005",
    name="warp-size-or-lockstep-assumption",
    severity="warning",
    summary="The code relies on the threads of a warp moving together, which newer GPUs do not guarantee.",
    why="Since Volta each thread has its own program counter. The unrolled tail of an old reduction, in which 32 threads add each "
    "other's shared cells line by line, may read a cell before or after its update. `__syncwarp()` between the steps, or shuffles "
    "with `_sync`, make the order certain.",
    bad=Example(
        _BAD,
        Context(
            evidence=(
                Evidence(
                    kind="simulator",
                    code="race",
                    text="thread 8 reads what thread 24 wrote at line 14, with no synchronisation between",
                    place=Place(line=15, end_line=15),
                    related=(Place(line=14, end_line=14),),
                    details=Race(conflict="write-read"),
                ),
            )
        ),
    ),
    good=_BAD.replace(
        "s[tid] += s[tid + 32];\n        s[tid] += s[tid + 16];\n        s[tid] += s[tid + 8]",
        "float v = s[tid] + s[tid + 32];\n        for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffffu, v, o);\n        if (tid == 0) y[0] = v",
    ).replace("    if (tid == 0) y[0] = s[0];\n", ""),
    detects=("text", "evidence"),
    guards="Steps with `__syncwarp()` or a shuffle between them are fine. Where threads of several warps conflict as well it is SYN002.",
    fix="Inserts `__syncwarp()`, or the `_sync` form of a shuffle.",
    check=check,
    predicts="elsewhere",
)
