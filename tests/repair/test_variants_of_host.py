"""Small changes of host code: launches, tensors, sizes, dimensions."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import pytest

from grader.diagnose import Program
from grader.records import Comparison, Mismatch
from grader.repair.variants.candidates import candidates
from grader.repair.variants.weave import CHOICE, weave
from grader.source import edits, parse

from .mean import MEAN

LAUNCHED = """
__global__ void scale(const float* x, float* y, float slope, int rows, int cols) {
    int r = blockIdx.y * 16 + threadIdx.y;
    int c = blockIdx.x * 16 + threadIdx.x;
    if (r < rows && c < cols) {
        float v = x[r * rows + c];
        y[r * rows + c] = v > 0 ? v : v * slope;
    }
}
void run(torch::Tensor x, torch::Tensor y) {
    int side = 16;
    int rows = x.size(0), cols = x.size(1);
    dim3 grid((cols + 15) / 16, (rows + 15) / 16);
    scale<<<grid, side>>>(x.data_ptr<float>(), y.data_ptr<float>(), 0.1f, rows, cols);
}
"""


def test_sizes_of_a_launch_are_fixed_where_they_are_declared(program: Program) -> None:
    head, _, rest = MEAN.partition("__global__")
    text = (head + LAUNCHED + rest[rest.index('"""') :]).replace(
        "grid((cols + 15) / 16, (rows + 15) / 16);", "grid((rows + 15) / 16, (cols + 15) / 16), block(16, 16);"
    )  # fmt: skip
    text = text.replace("<<<grid, side>>>", "<<<grid, block>>>")
    made = [edits.apply(text, fix.edits) for v in candidates(parse(text), program) if (fix := v.fix())]  # fmt: skip
    right = "dim3 grid((cols + 16 - 1) / 16, (rows + 16 - 1) / 16), block(16, 16);"
    assert any(right in changed and "<<<grid, block>>>" in changed for changed in made)


@pytest.mark.parametrize(
    "lines",
    [
        ["scale<<<grid, dim3(side, side)>>>("],
        ["scale<<<side, grid>>>("],
        ["scale<<<grid, dim3(16, 16)>>>("],
        ["y[r * rows + c] = v * slope;"],
        ["float v = x[r * cols + c];", "y[r * cols + c] = v > 0 ? v : v * slope;"],
    ],
)
def test_slips_of_launches_and_the_same_slip_twice(program: Program, lines: list[str]) -> None:
    head, _, rest = MEAN.partition("__global__")
    text = head + LAUNCHED + rest[rest.index('"""') :]
    changes = [variant.fix() for variant in candidates(parse(text), program)]
    made = [edits.apply(text, fix.edits) for fix in changes if fix]
    assert any(all(line in changed for line in lines) for changed in made)


TENSORS = """
torch::Tensor run(torch::Tensor x, torch::Tensor w, torch::Tensor bias) {
    int m = x.size(0), k = x.size(1), n = w.size(1);
    auto y = torch::matmul(x, w);
    auto z = y.unsqueeze(0).unsqueeze(1);
    auto s = torch::sum(z, {2}, false);
    const float one = 1.0f, zero = 0.0f;
    cublasSsymm(handle, CUBLAS_SIDE_LEFT, fill, n, n, &one, a, n, b, n, &zero, c, n);
    cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_T, m, n, k, &one, a, m, b, k, &zero, c, m);
    return s;
}
"""


@pytest.mark.parametrize(
    "line",
    [
        "auto y = torch::matmul(x, w) + bias;",
        "auto y = torch::matmul(x, w.t());",
        "auto z = y.unsqueeze(0);",
        "auto z = y;",
        "auto s = torch::sum(z, {2}, true);",
        "cublasSsymm(handle, CUBLAS_SIDE_RIGHT, fill, n, n, &one, a, n, b, n, &zero, c, n);",
        "cublasSgemm(handle, CUBLAS_OP_T, CUBLAS_OP_N, n, m, k, &one, b, k, a, k, &zero, c, n);",
        "cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_T, m, n, k, &one, a, m, b, n, &zero, c, m);",
    ],
)
def test_slips_of_host_code_that_launches_no_kernel(program: Program, line: str) -> None:
    head, _, rest = MEAN.partition("__global__")
    text = head + TENSORS + rest[rest.index('"""') :]
    changes = [variant.fix() for variant in candidates(parse(text), program)]
    made = [edits.apply(text, fix.edits) for fix in changes if fix]
    assert any(line in [one.strip() for one in changed.splitlines()] for changed in made)


def test_the_number_of_a_change_reaches_functions_without_a_launch(program: Program) -> None:
    head, _, rest = MEAN.partition("__global__")
    text = head + TENSORS + rest[rest.index('"""') :]
    submission = program.submission.model_copy(update={"code": text})
    assert f"{CHOICE}turn()" in weave(submission, {}).code.partition("run(torch")[2]


def test_a_block_of_one_dimension_comes_early_where_the_kernel_asks_for_two(
    program: Program,
) -> None:
    head, _, rest = MEAN.partition("__global__")
    text = head + LAUNCHED + rest[rest.index('"""') :]
    labels = [variant.label for variant in candidates(parse(text), program)]
    (place,) = (n for n, label in enumerate(labels) if "`dim3(side, side)`" in label)
    assert place < 20


def test_a_dimension_may_be_brought_to_the_end_before_the_launch(program: Program) -> None:
    told = MEAN.replace("run(torch::Tensor x, torch::Tensor w) {", "run(torch::Tensor x, torch::Tensor w, int dim) {")  # fmt: skip
    texts = [edits.apply(told, fix.edits) for v in candidates(parse(told), program) if (fix := v.fix())]  # fmt: skip
    line = "    x = x.movedim(dim, -1).contiguous();\n    row_mean<<<"
    assert any(line in text for text in texts)


def test_a_block_that_ends_at_1024_threads_gets_company_along_y(program: Program) -> None:
    head, _, rest = MEAN.partition("__global__")
    capped = """
__global__ void lowest(const float* x, float* y, int rows, int n, int inner) {
    int i = threadIdx.x;
    if (blockIdx.x >= rows || i >= inner) return;
    float v = INFINITY;
    for (int k = 0; k < n; ++k) v = fminf(v, x[(blockIdx.x * n + k) * inner + i]);
    y[blockIdx.x * inner + i] = v;
}
void run(torch::Tensor x, torch::Tensor y) {
    int rows = x.size(0), n = x.size(1), inner = x.size(2);
    dim3 block(inner < 1024 ? inner : 1024);
    dim3 blocks(rows);
    lowest<<<blocks, block>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, n, inner);
}
"""
    text = head + capped + rest[rest.index('"""') :]
    made = [edits.apply(text, fix.edits) for v in candidates(parse(text), program) if (fix := v.fix())]  # fmt: skip
    lines = [
        "int i = blockIdx.y * blockDim.x + threadIdx.x;",
        "dim3 block(256);",
        "lowest<<<dim3(rows, (inner + 255) / 256), block>>>(",
    ]
    assert any(all(line in changed for line in lines) for changed in made)


WINDOWS = """
__global__ void filtered(const float* x, const float* bias, float* y, int N, int C, int HW) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int c = (i / HW) % C;
    int n = i / (HW * C);
    float value = 0.0f;
    for (int k = 0; k < HW; ++k) value += x[((size_t)c * N + n) * HW + k];
    if (i < N * C) y[i] = sqrtf(value / C);
}
void run(torch::Tensor x, torch::Tensor b, torch::Tensor y) {
    const int N = x.size(0), C = x.size(1), HW = x.size(2);
    dim3 grid((HW + 255) / 256, 1, C);
    filtered<<<grid, 256>>>(x.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), N, C, HW);
}
"""


@pytest.mark.parametrize(
    "line",
    [
        "float value = bias[c];",
        "if (i < N * C) y[i] = sqrtf(value / C) + bias[c];",
        "for (int k = 0; k < HW; ++k) value += x[((size_t)n * C + c) * HW + k];",
        "if (i < N * C) y[i] = sqrtf(value);",
        "dim3 grid((HW + 255) / 256, 1, N * C);",
    ],
)
def test_a_bias_that_nobody_reads_and_planes_of_a_grid(program: Program, line: str) -> None:
    head, _, rest = MEAN.partition("__global__")
    text = head + WINDOWS + rest[rest.index('"""') :]
    made = [edits.apply(text, fix.edits) for v in candidates(parse(text), program) if (fix := v.fix())]  # fmt: skip
    assert any(line in changed for changed in made)


def test_as_many_blocks_as_a_row_is_compared_with(program: Program) -> None:
    head, _, rest = MEAN.partition("__global__")
    product = """
__global__ void scaled(const float* x, float* y, int n, int m) {
    const int row = blockIdx.x;
    const int i = blockIdx.y * blockDim.x + threadIdx.x;
    if (row < n && i < m) y[row * m + i] = 2.0f * x[row * m + i];
}
void run(torch::Tensor x, torch::Tensor y) {
    const int n = x.size(0), m = x.size(1);
    const dim3 grid(1, (m + 255) / 256);
    scaled<<<grid, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n, m);
}
"""
    text = head + product + rest[rest.index('"""') :]
    texts = [edits.apply(text, fix.edits) for v in candidates(parse(text), program)[:60] if (fix := v.fix())]  # fmt: skip
    assert any("const dim3 grid(n, (m + 255) / 256);" in one for one in texts)


@pytest.mark.parametrize(("kind", "kernels"), [("shape", False), ("values", True)])
def test_no_kernel_is_changed_where_nothing_but_the_shape_is_wrong(
    program: Program, kind: Literal["shape", "values"], kernels: bool
) -> None:
    wrong = Comparison(
        workload="w", role="nominal", equal=False, mismatch=Mismatch(kind=kind, text="wrong")
    )
    evaluation = program.evaluation.model_copy(update={"comparisons": (wrong,)})
    made = candidates(parse(MEAN), replace(program, evaluation=evaluation), "w")
    first = MEAN[: MEAN.index("torch::Tensor run")].count("\n")
    assert any(variant.line > first for variant in made)
    assert any(variant.line <= first for variant in made) == kernels
