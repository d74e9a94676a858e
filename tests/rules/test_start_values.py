"""A maximum that starts at 0: a slip, or a weakness that no result shows."""

from __future__ import annotations

from grader.records import Context, Evidence, Launch
from grader.source import parse
from tests.rules.examples import as_submission, beside
from tests.rules.reviews import review_text

POOL = """
__global__ void NAME(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float best = 0.0f;
    for (int k = 0; k < 4; ++k) {
        float v = x[4 * i + k];
        if (v > best) best = v;
    }
    y[i] = best;
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty({x.numel() / 4}, x.options());
    int n = y.numel();
    NAME<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""


def severities(name: str, context: Context) -> list[str]:
    submission = parse(as_submission(POOL.replace("NAME", name)))
    return [f.severity for f in review_text(submission, context, select=("RED005",))]


def test_a_start_at_zero_is_an_error_until_results_were_right() -> None:
    ran = Context(
        device="sim",
        launches=(Launch(kernel="pool", grid=(1, 1, 1), block=(256, 1, 1), shared_bytes=0),),
    )
    wrong = Evidence(kind="mismatch", code="values", text="a few are wrong", workload="64")
    assert severities("pool", Context()) == ["error"]
    assert severities("pool", ran) == ["warning"]
    both = Context(device="sim", launches=ran.launches, evidence=(wrong,))
    assert severities("pool", both) == ["error"]
    rectified = Context(device="sim", launches=ran.launches, task=beside("F.relu(pool(x))").task)
    assert severities("pool", rectified) == ["note"]


def test_nothing_unsigned_lies_below_zero() -> None:
    peak = POOL.replace("float best = 0.0f;", "KIND best = 0;").replace("float v =", "KIND v =")
    for kind, found in (("unsigned", []), ("uint32_t", []), ("size_t", []), ("int", ["error"])):
        submission = parse(as_submission(peak.replace("KIND", kind).replace("NAME", "pool")))
        said = review_text(submission, Context(), select=("RED005",))
        assert [finding.severity for finding in said] == found, kind
