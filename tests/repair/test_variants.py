"""Small changes of device code: what is proposed for indices, formulas, guards and stores."""

from __future__ import annotations

import re

import pytest

from grader.diagnose import Program
from grader.repair.variants.candidates import candidates
from grader.repair.variants.idle import idle_names
from grader.repair.variants.sites import scopes
from grader.source import edits, parse

from .mean import MEAN, changed


@pytest.mark.parametrize(
    "line",
    [
        "for (int i = threadIdx.x; i < cols; i += blockDim.x) {",
        "if (threadIdx.x == 0) y[blockIdx.x] = part[0] / cols;",
        "__syncthreads();",
        "sum = v * w[i];",
        "float sum = -INFINITY;",
        "auto y = torch::zeros({x.size(0)}, x.options());",
        "for (int i = blockIdx.x; i <= cols; i += blockDim.x) {",
        "float v = w[blockIdx.x * cols + i];",
        "float v = x[blockIdx.x * rows + i];",
    ],
)
def test_what_an_author_may_have_meant_is_among_the_changes(program: Program, line: str) -> None:
    assert line == "__syncthreads();" or line in changed(program)
    if line == "__syncthreads();":
        fixes = [v.fix() for v in candidates(parse(MEAN), program)]
        texts = [edits.apply(MEAN, f.edits) for f in fixes if f]
        assert any("sum;\n    __syncthreads();\n    for (int s" in text for text in texts)


@pytest.mark.parametrize(("second", "swapped"), [("", False), (" * blockDim.y", True)])
def test_a_second_axis_is_taken_where_the_kernel_has_one(
    program: Program, second: str, swapped: bool
) -> None:
    code = MEAN.replace("i += blockDim.x)", f"i += blockDim.x{second})")
    texts = [edits.apply(code, f.edits) for v in candidates(parse(code), program) if (f := v.fix())]
    assert any(f"i += blockDim.y{second})" in text for text in texts) == swapped


SLIPS = """
__global__ void norm(const float* x, const float* g, float* y, float eps, int N, int C, int HW, int total) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    int n = i % HW;
    int c = i / HW;
    float mean = 0.0f, sq = 0.0f;
    for (int k = 0; k + 4 <= HW; ++k) {
        float v = x[(c * N + n) * HW + k];
        mean += v;
        sq += v;
    }
    float scale = 1.0f / (sq / HW);
    y[i] = x[i] * scale * g[i] + fabsf(mean) * (1 / HW);
}
void run(torch::Tensor x, torch::Tensor g, torch::Tensor y) {
    auto C = x.size(1);
    int HW = x.size(2);
    dim3 grid((C + 15) / 16, (HW + 15) / 16);
    norm<<<grid, 256>>>(x.data_ptr<float>(), g.data_ptr<float>(), y.data_ptr<float>(), 1e-5f, x.size(0), C, HW, x.numel());
}
"""


@pytest.mark.parametrize(
    "line",
    [
        "int n = i / HW;",
        "for (int k = 0; k < HW; ++k) {",
        "float v = x[(n * C + c) * HW + k];",
        "sq += v * v;",
        "float scale = 1.0f / sqrt((sq / HW));",
        "y[i] = (x[i] - mean) * scale * g[i] + fabsf(mean) * (1 / HW);",
        "y[i] = x[i] * scale * g[c] + fabsf(mean) * (1 / HW);",
        "y[i] = x[i] * scale * g[i] + fabsf(mean) * (1.0f / HW);",
        "int HW = x.size(2) * x.size(3);",
        "dim3 grid((HW + 15) / 16, (C + 15) / 16);",
    ],
)
def test_slips_of_indices_formulas_and_sizes(program: Program, line: str) -> None:
    head, _, rest = MEAN.partition("__global__")
    text = head + SLIPS + rest[rest.index('"""') :]
    changes = [variant.fix() for variant in candidates(parse(text), program)]
    lines = {re.sub(r"\s+", "", edits.apply(text, fix.edits)) for fix in changes if fix}
    assert any(re.sub(r"\s+", "", line) in changed for changed in lines)


LEFT_OUT = """
__global__ void pool(const float* x, float* y, int outer, int size, int inner) {
    int o = blockIdx.x;
    int i = threadIdx.x;
    if (o >= outer || i >= inner) return;
    float sum = 0.0f;
    int inside = 0;
    for (int k = 0; k < size; ++k, ++inside) sum += x[(o * size + k) * inner + i];
    y[o * inner + i] = sum / inside;
}
void run(torch::Tensor x, torch::Tensor y) {
    int inner = x.size(2);
    pool<<<x.size(0), inner>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(0), x.size(1), inner);
}
"""


@pytest.mark.parametrize(
    "lines",
    [
        [
            "int i = blockIdx.y * blockDim.x + threadIdx.x;",
            "pool<<<dim3(x.size(0), (inner + 255) / 256), dim3(256)>>>(",
        ],
        ["y[o * inner + i] = sum / size;"],
        ["y[o * inner + i] = sum / (size * size);"],
    ],
)
def test_what_one_block_leaves_out_and_windows(program: Program, lines: list[str]) -> None:
    head, _, rest = MEAN.partition("__global__")
    text = head + LEFT_OUT + rest[rest.index('"""') :]
    changes = [variant.fix() for variant in candidates(parse(text), program)]
    made = [edits.apply(text, fix.edits) for fix in changes if fix]
    assert any(all(line in changed for line in lines) for changed in made)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (
            "tanhf(0.79788f * (v + 0.044715f * v * v * v))",
            "erff(v * 0.70710678118654752f)",
        ),
        (
            "erff(v * 0.70711f)",
            "tanhf(0.7978845608028654f * (v + 0.044715f * v * v * v))",
        ),
    ],
)
def test_the_other_gelu(program: Program, written: str, meant: str) -> None:
    text = MEAN.replace("sum += v * w[i];", f"sum += 0.5f * v * (1.0f + {written});")
    changes = [variant.fix() for variant in candidates(parse(text), program)]
    made = [edits.apply(text, fix.edits) for fix in changes if fix]
    assert any(f"sum += 0.5f * v * (1.0f + {meant});" in changed for changed in made)


TREE = """
__global__ void total(const float* x, float* y, int n) {
    __shared__ float part[256];
    int tid = threadIdx.x;
    const int count = n;
    float sum = 0.0f;
    for (int i = tid; i < count; i += 256) {
        int at = i - 1;
        sum += x[at];
    }
    __syncthreads();
    for (int s = 128; s > 0; s >>= 1) {
        if (tid < s) part[tid] += part[tid + s];
        __syncthreads();
    }
    if (tid == 0) y[0] = part[0];
}
__global__ void copy(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int count = n / 4;
    {
        y[i] = x[i];
    }
}
__global__ void twice(const float* x, float* y, int n) {
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    const int count = n / 4;
    float v = x[j];
    y[j] = v + v;
}
__global__ void clear(float* z, int rows, int cols, int size) {
    int r = blockIdx.y * 16 + threadIdx.y;
    int c = blockIdx.x * 16 + threadIdx.x;
    int k = 1;
    int at = (r * size + c) * size + k;
    z[r * cols + c] = 0.0f;
}
"""


@pytest.mark.parametrize(
    "lines",
    [
        ["part[tid] = sum;"],
        ["if (at >= 0 && at < n) sum += x[at];"],
        ["if (tid == 0) y[0] = part[0] / count;"],
        ["if (i < count) {"],
        ["if (j >= count) return;"],
        ["if (r < rows && c < cols) z[r * cols + c] = 0.0f;"],
        ["int at = (r * size + k) * size + c;"],
    ],
)
def test_a_store_a_guard_or_a_divisor_that_was_left_out(program: Program, lines: list[str]) -> None:
    head, _, rest = MEAN.partition("__global__")
    text = head + TREE + rest[rest.index('"""') :]
    changes = [variant.fix() for variant in candidates(parse(text), program)]
    made = [edits.apply(text, fix.edits) for fix in changes if fix]
    assert any(all(line in changed for line in lines) for changed in made)


POOLED = """
__global__ void pooled(const float* x, float* y, int H, int W, int OH, int OW, int pad) {
    int ow = blockIdx.x * blockDim.x + threadIdx.x;
    const float* plane = x + blockIdx.z * OH * OW;
    float total = 0.0f;
    for (int k = 0; k < W; ++k) total += fabsf(plane[k]);
    float scale = 1.0f / total;
    if (ow < OW) y[ow] = plane[ow * 2];
}
"""


@pytest.mark.parametrize(
    "line",
    [
        "const float* plane = x + blockIdx.z * H * W;",
        "for (int k = 0; k < W; ++k) total += plane[k] * plane[k];",
        "if (ow < OW) y[ow] = plane[ow * 2] * scale;",
    ],
)
def test_what_stands_ready_and_sizes_of_the_other_side(program: Program, line: str) -> None:
    head, _, rest = MEAN.partition("__global__")
    text = head + POOLED + rest[rest.index("torch::Tensor run") :]
    fixes = [fix for variant in candidates(parse(text), program) if (fix := variant.fix())]
    assert any(line in edits.apply(text, fix.edits) for fix in fixes)


def test_a_variable_that_nothing_uses_is_likely_what_was_forgotten(program: Program) -> None:
    head, _, rest = MEAN.partition("__global__")
    text = head + POOLED + rest[rest.index("torch::Tensor run") :]
    (scope,) = (one for one in scopes(parse(text).cuda) if one.function.runs == "kernel")
    assert idle_names(scope) == {"H", "pad", "scale"}
    every = candidates(parse(text), program)
    labels = [variant.label for variant in every]
    used = next(k for k, label in enumerate(labels) if "plane[ow * 2] * scale" in label)
    other = next(k for k, label in enumerate(labels) if "plane[ow * 2] * total" in label)
    assert used < other
