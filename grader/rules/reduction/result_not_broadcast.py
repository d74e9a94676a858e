"""RED003: only one thread holds the total, but all go on as if they did."""

from collections.abc import Iterator

from grader.records import Context, Finding
from grader.rules.rule import Rule
from grader.source import Source
from grader.source.analysis.reduced_result import Loss, one_lane_has_it, with_result
from grader.source.analysis.walks import Case, cases
from grader.source.rewriting.reductions import broadcast


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for stores by threads that hold less of the sum than others."""
    found: dict[str, Finding] = {}
    for case in cases(source, context):
        loss = one_lane_has_it(case)
        if loss is not None:
            found.setdefault(case.kernel, _finding(case, loss))
    yield from with_result(found.values(), context)


def _finding(case: Case, loss: Loss) -> Finding:
    node = loss.exchange.call or loss.exchange.node
    return RULE.finding(
        case.place(node),
        f"after line {case.line(node)} only the first lane holds the reduced value, but line {case.line(loss.store.node)} lets every "
        "thread use its own, which lacks the partial results of lanes before it",
        kernels=(case.kernel,),
        fixes=broadcast(case, loss),
    )


_BAD = """
__global__ void scale(const float* x, float* y, int cols) {
    float v = 0.0f;
    for (int c = threadIdx.x; c < cols; c += 32) v += x[blockIdx.x * cols + c];
    for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffff, v, o);
    for (int c = threadIdx.x; c < cols; c += 32)
        y[blockIdx.x * cols + c] = x[blockIdx.x * cols + c] / v;
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    scale<<<x.size(0), 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""
RULE = Rule(
    code="RED003",
    name="result-not-broadcast",
    summary="Only one thread (or lane) holds the final sum, but all threads go on to use their own leftover value.",
    why="`__shfl_down_sync` and `if (threadIdx.x == 0)` leave the total in one thread; the others keep partial sums. Whoever needs it "
    "must get it: through a shared variable and a barrier, with `__shfl_sync(mask, v, 0)`, or by `__shfl_xor_sync`, which leaves it "
    "in every lane.",
    bad=_BAD,
    good=_BAD.replace(" __shfl_down_sync", " __shfl_xor_sync"),
    detects=("text", "evidence"),
    languages=("cuda",),
    guards="Only uses outside of the thread that has the total count; prefix sums, in which every "
    "thread rightly has a different part, are recognised and left alone.",
    fix="Exchanges crosswise, or hands the total to the block through shared memory.",
    check=check,
    explained_by=("RED001",),
)
