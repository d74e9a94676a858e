"""SYN005: code counts on the threads of a warp moving together."""

from __future__ import annotations

from collections.abc import Iterator

from grader.records import Context, Finding, Fix
from grader.records.observed import observed
from grader.rules.proofs import settle
from grader.rules.rule import Rule
from grader.source import Source
from grader.source.analysis.walks import Case, cases, spans
from grader.source.code_edits import fix
from grader.source.flow import Event
from grader.source.flow.tree import Call, walk
from grader.source.statements import insert_before, statement

OLD = frozenset({"__shfl", "__shfl_down", "__shfl_up", "__shfl_xor", "__ballot", "__any", "__all"})
KINDS = ("race-raw", "race-war", "race-waw")


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for conflicts inside one warp, and for shuffles of the old kind."""
    found: dict[tuple[str, str], tuple[str, Finding]] = {}
    others: set[int] = set()
    for case in cases(source, context):
        across = {
            e.region.name
            for e in case.events(*KINDS)
            if e.region is not None and not e.data["same_warp"]
        }
        for event in case.events(*KINDS):
            if (
                event.data["same_warp"]
                and event.region is not None
                and event.region.name not in across
            ):
                key = (case.kernel, event.region.name)
                if key not in found:
                    found[key] = (case.kernel, _finding(case, event))
                    others.add(case.line(event.other))
    lines = {f.place.line for _, f in found.values() if f.place is not None}
    lines |= others
    proof = tuple(
        item for item in observed(context, "race") if item.place and item.place.line in lines
    )
    proof += observed(context, "race-volatile")
    yield from settle(RULE, tuple(found.values()), proof, spans(source))
    yield from _old_shuffles(source, context)


def _finding(case: Case, event: Event) -> Finding:
    name = event.region.name if event.region is not None else "shared memory"
    line, other = case.line(event.node), case.line(event.other)
    return RULE.finding(
        case.place(event.node),
        f"threads of one warp exchange values through `{name}` on lines {other} and {line} without "
        "`__syncwarp()`: since Volta the threads of a warp need not move together",
        kernels=(case.kernel,),
        fixes=_fixes(case, event),
    )


def _fixes(case: Case, event: Event) -> Iterator[Fix]:
    yield from fix(
        "let the warp meet before the access",
        [insert_before(case.unit, statement(event.node), "__syncwarp();")],
    )


def _old_shuffles(source: Source, context: Context) -> Iterator[Finding]:
    for case in cases(source, context):
        for function in case.flow.program.functions:
            for part in walk(function.body):
                if isinstance(part, Call) and part.base is None and part.name in OLD:
                    yield RULE.finding(
                        case.place(part.node),
                        f"`{part.name}` without `_sync` no longer exists on today's GPUs; it trusted that the threads of a warp move "
                        "together",
                        fixes=fix(
                            "use the synchronising form",
                            [
                                case.unit.edit(
                                    part.node.start_byte,
                                    part.node.start_byte + len(part.name) + 1,
                                    f"{part.name}_sync(0xffffffff, ",
                                )
                            ],
                        ),
                    )
        return


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
        "float v = s[tid] + s[tid + 32];\n        for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffffu, v, o);\n        if (tid == 0) y[0] = v",
    ).replace("    if (tid == 0) y[0] = s[0];\n", ""),
    detects=("text", "evidence"),
    guards="Steps with `__syncwarp()` or a shuffle between them are fine. Where threads of several warps conflict as well it is SYN002.",
    fix="Inserts `__syncwarp()`, or the `_sync` form of a shuffle.",
    check=check,
    predicts="elsewhere",
)
