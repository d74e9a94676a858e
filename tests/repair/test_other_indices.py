"""Small changes that real answers asked for: a dimension in the middle, a size forgotten in an index, GELU in parts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from grader.diagnose import Program
from grader.records import (
    Comparison,
    Evaluation,
    Finding,
    Mismatch,
    Run,
    RunStatus,
    Submission,
    Verdict,
)
from grader.repair.variants.candidates import candidates
from grader.repair.variants.sites import scopes
from grader.repair.variants.tiles import tiles
from grader.rules.examples import as_submission
from grader.source import edits, parse

KERNEL = """
__device__ float at(const float* x, int b, int c, int i, int channels, int width) {
    return x[(b * gridDim.z + c) * width + i];
}
__global__ void product(const float* x, float* y, int size, int stride, int width, int total) {
    int out = blockIdx.x * blockDim.x + threadIdx.x;
    if ((size_t)&x[out] % 16 == 0 && out >= total) return;
    float p = 1.0f;
    for (int i = 0; i < size; ++i) p *= x[out + i * stride];
    float scaled = 0.7978845608f * (p + 0.044715f * p * p * p);
    float cdf = 0.5f * (1.0f + tanhf(scaled));
    y[out] = p * cdf * at(x, 0, 0, out, 1, width);
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    product<<<1, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1), x.stride(1), 8, 256);
    return y;
}
"""


def program(status: str = "incorrect", *found: Finding, mismatch: str = "values") -> Program:
    submission = Submission(sample="s", code=as_submission(KERNEL), line_map=(), how="")
    compared = Comparison(
        workload="w",
        role="nominal",
        equal=False,
        decides=True,
        mismatch=Mismatch(kind=mismatch, text="wrong", fraction=1.0),  # type: ignore[arg-type]
    )
    evaluation = Evaluation(
        submission=submission.key,
        device="sim",
        sandbox="none",
        verdict=Verdict(status=status, sentence="wrong"),  # type: ignore[arg-type]
        comparisons=(compared,),
    )
    return Program(submission, evaluation, found)


@pytest.mark.parametrize(
    "line",
    [
        "p *= x[(out / stride) * size * stride + out % stride + i * stride];",
        "return x[(b * channels + c) * width + i];",
        "if ((size_t)x % 16 == 0 && out >= total) return;",
        "float cdf = 0.5f * (1.0f + erff(p * 0.70710678118654752f));",
    ],
)
def test_what_was_meant_is_among_the_changes(line: str) -> None:
    wrong = program()
    code = wrong.submission.code
    made = (edits.apply(code, f.edits) for v in candidates(parse(code), wrong) if (f := v.fix()))
    assert any(line in text for text in made)


def test_a_name_that_says_more_is_taken_for_the_one_in_it_before_others() -> None:
    kernel = KERNEL.replace("return x[", "int full_width = 2 * width + full_size;\n    return x[")
    kernel = kernel.replace("int channels, int width", "int channels, int full_size, int width")
    wrong = program()
    code = as_submission(kernel.replace("+ i]", "+ full_width * i]"))
    found = candidates(parse(code), wrong)
    labels = [fix.label for variant in found if (fix := variant.fix())]
    (plain, other) = (
        next(
            at
            for at, label in enumerate(labels)
            if f": `{name}` in the place of `full_width`" in label
        )
        for name in ("width", "full_size")
    )
    assert plain < other


def test_fewer_reasons_and_a_result_of_the_right_form_are_steps() -> None:
    (error, other) = (
        Finding(rule=rule, name="n", severity="error", confidence="proven", message="m")
        for rule in ("SYN003", "NUM001")
    )
    plain = program("incorrect", other)
    assert plain.rank > program("incorrect", error, other).rank
    assert plain.rank > program("incorrect", other, mismatch="shape").rank
    assert program("crashed").rank < program("incorrect", error, other, mismatch="shape").rank


def test_to_fail_on_one_workload_alone_is_further_than_wrong_results() -> None:
    def after(*ends: RunStatus) -> Program:
        runs = tuple(Run(workload=f"w{k}", device="sim", status=end) for k, end in enumerate(ends))
        right = tuple(
            Comparison(workload=run.workload, role="nominal", equal=True, decides=True)
            for run in runs
            if run.status == "ran"
        )
        crashed = program("crashed")
        seen = crashed.evaluation.model_copy(update={"runs": runs, "comparisons": right})
        return replace(crashed, evaluation=seen)

    wrong = program("incorrect")
    assert after("ran", "ran", "raised").rank > wrong.rank
    assert after("raised", "raised", "ran").rank < wrong.rank
    assert after("raised").rank < wrong.rank


HOST = """
__global__ void rows(const float* a, const float* b, float* y, int m, int k) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < m && col == 0) y[row] = a[row * k] * b[0];
}
torch::Tensor run(torch::Tensor a, torch::Tensor b, torch::Tensor bias) {
    auto y = torch::zeros({a.size(0)}, a.options());
    int m = a.size(0);
    a = a.transpose(0, 1);
    rows<<<m, 256>>>(a.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), m, a.size(1));
    if (bias.defined()) y = y + bias;
    return y;
}
"""


@pytest.mark.parametrize(
    "line",
    [
        "rows<<<dim3((1 + 16 - 1) / 16, (m + 16 - 1) / 16), dim3(16, 16)>>>",
        "if (bias.defined() && bias.numel() > 0) y = y + bias;",
        "a = a.transpose(0, 1).contiguous();",
    ],
)
def test_what_host_code_meant_is_among_the_changes(line: str) -> None:
    code = as_submission(HOST)
    wrong = program()
    made = (edits.apply(code, f.edits) for v in candidates(parse(code), wrong) if (f := v.fix()))
    assert any(line in text for text in made)


DIVIDED = """
__global__ void picked(const float* x, float* y, int total, int rows, int width) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= total) return;
    int w = idx % width;
    idx /= width;
    int r = idx % rows;
    int b = idx / rows;
    y[idx * rows * width + r * width + w] = x[(b * rows + r) * width + w];
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    picked<<<1, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel(), x.size(1), x.size(2));
    return y;
}
"""


def test_a_number_that_was_divided_up_is_no_index_any_more() -> None:
    code = as_submission(DIVIDED)
    made = candidates(parse(code), program())[:40]
    texts = [edits.apply(code, fix.edits) for variant in made if (fix := variant.fix())]
    assert any("y[b * rows * width + r * width + w]" in text for text in texts)
    assert any("y[(blockIdx.x * blockDim.x + threadIdx.x) * rows" in text for text in texts)
    assert not any("(blockIdx.x * blockDim.x + threadIdx.x) % width" in text for text in texts)


TILE = """
__global__ void product(const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ float as[16][16], bs[16][16];
    int ty = threadIdx.y, tx = threadIdx.x;
    int row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
    float sum = 0.0f;
    for (int t = 0; t < k; t += 16) {
        as[ty][tx] = row < m && t + tx < k ? a[row * k + t + tx] : 0.0f;
        if (col < n && t + tx < k) bs[ty][tx] = b[col * k + t + tx];
        __syncthreads();
        for (int q = 0; q < 16; ++q) sum += as[ty][q] * bs[tx][q];
        __syncthreads();
    }
    if (row < m && col < n) c[row * n + col] = sum;
}
"""


def test_a_tile_whose_rows_come_from_one_place_is_loaded_by_the_other_coordinate() -> None:
    def variants(kernel: str) -> list[str]:
        code = as_submission(kernel)
        found = [v.fix() for scope in scopes(parse(code).cuda) for v in tiles(scope)]
        return [edits.apply(code, fix.edits) for fix in found if fix is not None]

    by_row = "(blockIdx.x * 16 + ty)"
    meant = f"if ({by_row} < n && t + tx < k) bs[ty][tx] = b[{by_row} * k + t + tx];"
    (made,) = variants(TILE)
    assert meant in made
    assert variants(TILE.replace("b[col * k + t + tx]", "b[(t + ty) * n + col]")) == []
