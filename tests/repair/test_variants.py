"""Small changes: what is proposed, how all of them stand in one program, which of them survive."""

from __future__ import annotations

import ast
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.diagnose import Program
from grader.records import Evaluation, Launch, Run, Submission, Verdict, Workload
from grader.repair.variants.candidates import candidates
from grader.repair.variants.idle import idle_names
from grader.repair.variants.origins import origins
from grader.repair.variants.screen import allowed
from grader.repair.variants.sites import scopes
from grader.repair.variants.weave import CHOICE, weave
from grader.source import edits, parse

MEAN = '''
import torch
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

__global__ void row_mean(const float* x, const float* w, float* y, int cols, int rows) {
    __shared__ float part[256];
    const int width = 256;
    float sum = 0.0f;
    for (int i = threadIdx.x; i <= cols; i += blockDim.x) {
        float v = x[blockIdx.x * cols + i];
        sum += v * w[i];
    }
    part[threadIdx.x] = sum;
    for (int s = width / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) y[blockIdx.x] = part[0];
}

torch::Tensor run(torch::Tensor x, torch::Tensor w) {
    auto y = torch::empty({x.size(0)}, x.options());
    row_mean<<<x.size(0), 256>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), x.size(1), x.size(0));
    return y;
}
"""
ops = load_inline(name="ops", cpp_sources="torch::Tensor run(torch::Tensor x, torch::Tensor w);", cuda_sources=source, functions=["run"])


class ModelNew(torch.nn.Module):
    def forward(self, x, w):
        return ops.run(x, w)
'''


@pytest.fixture(scope="module")
def program() -> Program:
    submission = Submission(sample="s", code=MEAN, line_map=(), how="")
    verdict = Verdict(status="incorrect", sentence="wrong")
    evaluation = Evaluation(
        submission=submission.key, device="sim", sandbox="none", verdict=verdict
    )
    return Program(submission, evaluation, ())


def changed(program: Program) -> set[str]:
    """Return the program's lines after each small change, the changed ones only."""
    old = set(MEAN.splitlines())
    found = set()
    for variant in candidates(parse(MEAN), program):
        fix = variant.fix()
        assert fix is not None
        found |= set(edits.apply(MEAN, fix.edits).splitlines()) - old
    return {line.strip() for line in found}


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


def test_nothing_is_changed_that_the_compiler_must_know(program: Program) -> None:
    assert not any("part[257]" in line or "part[128]" in line for line in changed(program))


def test_no_variable_is_proposed_where_it_is_not_known(program: Program) -> None:
    assert not any("] = part[s]" in line or "y[i]" in line for line in changed(program))


@settings(deadline=None, max_examples=15)
@given(st.data())
def test_without_what_was_woven_in_the_program_is_the_old_one(
    program: Program, data: st.DataObject
) -> None:
    every = candidates(parse(MEAN), program)
    chosen = data.draw(st.lists(st.sampled_from(range(len(every))), unique=True, max_size=40))
    woven = weave(program.submission, {n + 1: every[n] for n in chosen}).code
    ast.parse(woven)
    assert all(
        woven.count(a) - MEAN.count(a) == woven.count(b) - MEAN.count(b) for a, b in ("()", "{}")
    )
    for n in chosen:
        assert re.search(rf"{CHOICE}(?: [!=]= |forward_){n + 1}\b", woven)


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


def test_sizes_of_a_launch_are_mended_where_they_are_declared(program: Program) -> None:
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


def test_a_block_of_one_dimension_comes_early_where_the_kernel_asks_for_two(
    program: Program,
) -> None:
    head, _, rest = MEAN.partition("__global__")
    text = head + LAUNCHED + rest[rest.index('"""') :]
    labels = [variant.label for variant in candidates(parse(text), program)]
    (place,) = (n for n, label in enumerate(labels) if "`dim3(side, side)`" in label)
    assert place < 20


def test_where_no_kernel_began_only_host_code_is_changed(program: Program) -> None:
    ended = program.evaluation.model_copy(
        update={"runs": (Run(workload="w", device="sim", status="raised"),)}
    )
    found = candidates(parse(MEAN), Program(program.submission, ended, ()))
    host = next(i for i, line in enumerate(MEAN.splitlines(), 1) if "torch::Tensor run" in line)
    assert found
    assert all(variant.line > host for variant in found)


def test_device_code_is_changed_for_a_workload_on_which_it_ran(program: Program) -> None:
    launched = Launch(kernel="row_mean", grid=(1, 1, 1), block=(256, 1, 1), shared_bytes=0)
    runs = (
        Run(workload="half", device="sim", status="raised"),
        Run(workload="float", device="sim", status="ran", launches=(launched,)),
    )
    known = program.evaluation.model_copy(update={"runs": runs})
    state = Program(program.submission, known, ())
    every = {variant.label for variant in candidates(parse(MEAN), state, "float")}
    host = {variant.label for variant in candidates(parse(MEAN), state, "half")}
    assert host < every


@pytest.mark.parametrize(("took", "may"), [(None, 2.0), (0.001, 1.0), (0.15, 1.5), (9.0, 2.0)])
def test_a_change_may_take_many_times_as_long_as_the_program(
    program: Program, took: float | None, may: float
) -> None:
    status: Any = "hung" if took is None else "ran"
    run = Run(workload="w", device="sim", status=status, seconds=took or 0.0)
    before = program.evaluation.model_copy(update={"runs": (run,)})
    workload = Workload(name="w", role="nominal", inputs=())
    assert allowed(before, (workload,)) == pytest.approx(may)


def test_the_likeliest_come_first(program: Program) -> None:
    costs = [variant.cost for variant in candidates(parse(MEAN), program)]
    assert costs == sorted(costs)


def test_a_copy_with_other_code_has_another_key(program: Program) -> None:
    assert program.submission.key != program.submission.model_copy(update={"code": "x"}).key


def test_a_dimension_may_be_brought_to_the_end_before_the_launch(program: Program) -> None:
    told = MEAN.replace("run(torch::Tensor x, torch::Tensor w) {", "run(torch::Tensor x, torch::Tensor w, int dim) {")  # fmt: skip
    texts = [edits.apply(told, fix.edits) for v in candidates(parse(told), program) if (fix := v.fix())]  # fmt: skip
    line = "    x = x.movedim(dim, -1).contiguous();\n    row_mean<<<"
    assert any(line in text for text in texts)


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


def test_a_line_that_made_what_a_wrong_line_uses_is_suspect_too() -> None:
    source = parse(MEAN)
    line = next(k for k, words in enumerate(MEAN.splitlines(), 1) if "sum += v * w[i]" in words)
    named = {MEAN.splitlines()[k - 1].strip() for k in origins(source.cuda, {line})}
    assert named == {
        "float sum = 0.0f;",
        "for (int i = threadIdx.x; i <= cols; i += blockDim.x) {",
        "float v = x[blockIdx.x * cols + i];",
    }


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
