"""SYN005: code counts on the threads of a warp moving together."""

from __future__ import annotations

from collections.abc import Iterator

from grader.records import Context, Finding
from grader.records.observed import observed
from grader.rules.proofs import settle
from grader.rules.rule import Rule
from grader.source import Source
from grader.source.analysis.walks import Case, cases, spans
from grader.source.code_edits import fix
from grader.source.cuda_code import cuda_code
from grader.source.flow import Event
from grader.source.statements import insert_before, statement

OLD = ("__shfl", "__shfl_down", "__shfl_up", "__shfl_xor", "__ballot", "__any", "__all")
KINDS = ("race-raw", "race-war", "race-waw")


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for conflicts inside one warp, and for shuffles of the old kind."""
    found: dict[tuple[str, str], tuple[str, Finding]] = {}
    lines: set[int] = set()
    for case in cases(source, context):
        races = [event for event in case.events(*KINDS) if event.region is not None]
        across = {e.region.name for e in races if e.region and not e.data["same_warp"]}
        for event in races:
            key = (case.kernel, event.region.name if event.region else "")
            if event.data["same_warp"] and key[1] not in across and key not in found:
                found[key] = (case.kernel, _finding(case, event, key[1]))
                lines |= {case.line(event.node), case.line(event.other)}
    seen = observed(context, "race")
    proof = [item for item in seen if item.place is not None and item.place.line in lines]
    proof += observed(context, "race-volatile")
    yield from settle(RULE, tuple(found.values()), proof, spans(source))
    yield from _old_shuffles(source)


def _finding(case: Case, event: Event, name: str) -> Finding:
    meet = insert_before(case.unit, statement(event.node), "__syncwarp();")
    return RULE.finding(
        case.place(event.node),
        f"threads of one warp exchange values through `{name}` on lines {case.line(event.other)} and {case.line(event.node)} without "
        "`__syncwarp()`: since Volta the threads of a warp need not move together",
        kernels=(case.kernel,),
        fixes=fix("let the warp meet before the access", [meet]),
    )


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
    bad=_BAD,
    good=_BAD.replace(
        "s[tid] += s[tid + 32];\n        s[tid] += s[tid + 16];\n        s[tid] += s[tid + 8]",
        "float v = s[tid] + s[tid + 32];\n"
        "        for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffffu, v, o);\n"
        "        if (tid == 0) y[0] = v",
    ).replace("    if (tid == 0) y[0] = s[0];\n", ""),
    detects=("text", "evidence"),
    guards="Steps with `__syncwarp()` or a shuffle between them are fine. Where threads of several warps conflict as well it is SYN002.",
    fix="Inserts `__syncwarp()`, or the `_sync` form of a shuffle.",
    check=check,
    predicts="elsewhere",
)
