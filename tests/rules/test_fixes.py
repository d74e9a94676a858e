"""What rules propose as fixes of kernels and launches: the lines of a program after a finding's fix."""

from __future__ import annotations

import pytest

from grader.records import Context, Evidence, MemoryAccess, Place
from grader.rules import all_rules
from grader.rules.examples import as_submission
from grader.source import parse
from grader.source.edits import apply
from tests.rules.reviews import detected_with_fixes

from .fixed import STRIDED, fixes

TILE = """
__global__ void upper(const float* a, float* c, int n) {
    __shared__ float tile[16][16];
    int col = blockIdx.x * 16 + threadIdx.x;
    int row = blockIdx.y * 16 + threadIdx.y;
    if (row >= n || col >= n) return;
    if (col < row) {
        c[row * n + col] = 0.0f;
        return;
    }
    float acc = 0.0f;
    for (int k = 0; k < n; k += 16) {
        float v = 0.0f;
        if (k + threadIdx.x < n) v = a[row * n + k + threadIdx.x];
        tile[threadIdx.y][threadIdx.x] = v;
        __syncthreads();
        for (int j = 0; j < 16; ++j) acc += tile[j][threadIdx.x];
        __syncthreads();
    }
    c[row * n + col] = acc;
}
torch::Tensor run(torch::Tensor a) {
    auto c = torch::empty_like(a);
    int n = a.size(0);
    dim3 grid((n + 15) / 16, (n + 15) / 16);
    upper<<<grid, dim3(16, 16)>>>(a.data_ptr<float>(), c.data_ptr<float>(), n);
    return c;
}
"""


VECTORS = """
__global__ void rows(const float* x, float* y, int n) {
    int i = blockIdx.x * n + threadIdx.x * 4;
    if (threadIdx.x * 4 < n) {
        float4 v = *reinterpret_cast<const float4*>(&x[i]);
        y[i] = v.x;
        if (threadIdx.x * 4 + 1 < n) y[i + 1] = v.y;
    }
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    rows<<<x.size(0), 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""


def test_threads_that_returned_stay_in_the_block() -> None:
    ways = fixes("SYN003", as_submission(TILE))
    everywhere = {
        "const bool in_range = !(row >= n || col >= n);",
        "const bool in_range_2 = in_range && !(col < row);",
        "if (in_range && (col < row)) {",
        "if (in_range_2) c[row * n + col] = acc;",
    }
    assert all(everywhere <= lines and "return;" not in lines for lines in ways)
    load = "if (k + threadIdx.x < n) v = {};"
    wanted = ("(in_range ? {} : 0)", "(in_range_2 ? {} : 0)", "{}")
    for lines, guarded in zip(ways, wanted, strict=True):
        assert load.format(guarded.format("a[row * n + k + threadIdx.x]")) in lines


def test_of_an_unaligned_vector_only_what_is_used_is_read() -> None:
    used, loose = fixes("MEM007", as_submission(VECTORS))
    assert {"y[i] = x[i];", "if (threadIdx.x * 4 + 1 < n) y[i + 1] = x[i + 1];"} <= used
    assert not any("float4" in line for line in used)
    assert "float4 v = *reinterpret_cast<const loose_float4*>(&x[i]);" in loose
    assert "struct loose_float4 {" in loose


def test_an_exchange_in_a_helper_that_a_branch_calls_is_made_by_all_lanes() -> None:
    rule = all_rules()["SYN004"]
    code = as_submission(
        """
__device__ float warp_sum(float v) {
    for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffff, v, o);
    return v;
}
__device__ float block_sum(float v) {
    __shared__ float part[8];
    v = warp_sum(v);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
    __syncthreads();
    v = threadIdx.x < 8 ? part[threadIdx.x] : 0.0f;
    if (threadIdx.x < 8) v = warp_sum(v);
    return v;
}
__global__ void sums(const float* x, float* y) {
    float v = block_sum(x[threadIdx.x]);
    if (threadIdx.x == 0) y[0] = v;
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty({1}, x.options());
    sums<<<1, 256>>>(x.data_ptr<float>(), y.data_ptr<float>());
    return y;
}
"""
    )
    (finding,) = detected_with_fixes(rule.code, parse(code), Context())
    before, whole = finding.fixes
    assert "if (threadIdx.x < 32) v = warp_sum(v);" in apply(code, whole.edits)
    assert "0.0f;\n    v = warp_sum(v);\n    return v;" in apply(code, before.edits)


def test_a_barrier_after_a_helper_stands_before_the_branch() -> None:
    code = as_submission(STRIDED)
    (finding,) = detected_with_fixes("SYN002", parse(code), Context())
    (fix,) = finding.fixes
    branch = "if (threadIdx.x == 0) {\n        part[0]"
    assert f"__syncthreads();\n    {branch}" in apply(code, fix.edits)


def wrapped(kernel: str, line: int) -> Context:
    item = Evidence(
        kind="simulator",
        code="oob",
        text="thread 0 reads before the start: the index has wrapped",
        place=Place(line=line, end_line=line),
        kernel=kernel,
        details=MemoryAccess(wrapped=True),
    )
    return Context(evidence=(item,), device="sim")


def test_an_index_that_a_run_saw_wrap_is_counted_in_64_bits() -> None:
    code = as_submission(STRIDED)
    at = next(n for n, line in enumerate(code.splitlines(), 1) if "y[i] = x[i]" in line)
    (lines,) = fixes("IDX001", code, wrapped("scaled", at))
    head = "for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; "
    assert any(line.startswith(head) for line in lines)


@pytest.mark.parametrize(
    ("line", "fixed"),
    [
        ("y[i * n + k] = 1.0f;", {"y[(long long)i * n + k] = 1.0f;"}),
        ("*to = 1.0f;", {"float* to = y + k + (long long)n * i;"}),
        ("*(y + n * i) = 1.0f;", {"*(y + (long long)n * i) = 1.0f;"}),
    ],
)
def test_where_an_index_wraps_it_is_computed_in_64_bits(line: str, fixed: set[str]) -> None:
    code = as_submission(
        "__global__ void fill(float* y, int n, int k) {\n"
        "    int i = blockIdx.x;\n"
        "    float* to = y + k + n * i;\n"
        f"    {line}\n"
        "}\n"
    )
    at = next(n for n, text in enumerate(code.splitlines(), 1) if text.strip() == line)
    found = fixes("IDX001", code, wrapped("fill", at))
    assert [lines & fixed for lines in found] == [fixed]


BLOCKS = """
#define SIDE 64
__global__ void mark(float* y, int n) {
    int i = threadIdx.y * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 1.0f;
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    dim3 block(SIDE, SIDE);
    mark<<<1, block>>>(y.data_ptr<float>(), y.numel());
    return y;
}
"""


def test_a_block_of_too_many_threads_is_made_smaller() -> None:
    (named,) = fixes("IDX003", as_submission(BLOCKS))
    assert "#define SIDE 16" in named
    (numbers,) = fixes("IDX003", as_submission(BLOCKS.replace("SIDE, SIDE", "64, 32")))
    assert "dim3 block(32, 32);" in numbers
