"""RED001: the warps' parts are never joined."""

from collections.abc import Iterator

from grader.records import Context, Finding
from grader.rules.rule import Rule
from grader.source import Source
from grader.source.analysis.reduced_result import Loss, unjoined, with_result
from grader.source.analysis.walks import Case, cases
from grader.source.rewriting.reductions import join_warps
from grader.source.statements import enclosing_loops


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for stores that hold the data of the thread's own warp only."""
    found: dict[str, Finding] = {}
    for case in cases(source, context):
        loss = unjoined(case)
        if loss is not None:
            found.setdefault(case.kernel, _finding(case, loss))
    yield from with_result(found.values(), context)


def _finding(case: Case, loss: Loss) -> Finding:
    shuffle = loss.exchange.node
    where = loss.exchange.call or next(enclosing_loops(shuffle), shuffle)
    return RULE.finding(
        case.place(where),
        f"each warp reduces its own 32 values, but nothing joins the {(case.walk.threads + 31) // 32} warps that work on one row: what line "
        f"{case.line(loss.store.node)} stores holds at most 32 of {case.walk.threads} partial results",
        kernels=(case.kernel,),
        fixes=join_warps(case, loss),
    )


_BAD = """
__global__ void row_sum(const float* x, float* y, int cols) {
    float v = 0.0f;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) v += x[blockIdx.x * cols + c];
    for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffff, v, o);
    if (threadIdx.x == 0) y[blockIdx.x] = v;
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty({x.size(0)}, x.options());
    row_sum<<<x.size(0), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""
RULE = Rule(
    code="RED001",
    name="missing-cross-warp-reduction",
    summary="Each group of 32 threads sums its own part, but the parts are never added together, so the total is too small.",
    why="Shuffles reach no further than the 32 lanes of a warp. In a block of several warps each warp ends with a sum of its own; one "
    "value a warp has to go through shared memory (or an atomic), past a barrier, and be summed again.",
    bad=_BAD,
    good=_BAD.replace(
        "    if (threadIdx.x == 0) y[blockIdx.x] = v;",
        "    if (threadIdx.x % 32 == 0) atomicAdd(y + blockIdx.x, v);",
    ),
    detects=("text", "evidence"),
    languages=("cuda",),
    guards="Rows that a single warp works on, one atomic a warp, cub and cooperative groups over the block are not reported: what came "
    "through shared memory was joined.",
    fix="Adds the step through shared memory, or replaces the reduction by one over the whole block.",
    check=check,
)
