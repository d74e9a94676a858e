"""Indices as coordinates, and the bounds that they ask for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.records import Context, Task, TensorSpec, Workload
from grader.repair.fixes.unguarded_reads import zero_outside
from grader.source import parse
from grader.source.edits import apply
from grader.source.indices import Coordinate, Reader
from grader.source.nodes import text
from tests.rules.examples import as_submission

KERNEL = """
__global__ void k(const float* x, float* y, int A, int B, int C) {
    int a = blockIdx.x, b = blockIdx.y, c = threadIdx.x;
    int row = a * C;
    y[0] = x[%s];
}
"""


def coordinates(index: str) -> tuple[Coordinate, ...]:
    (unit,) = parse(as_submission(KERNEL % index)).cuda
    (read,) = [n for n in unit.nodes("subscript_expression") if text(n).startswith("x[")]
    inner = read.child_by_field_name("indices")
    assert inner is not None
    return Reader(unit.kernels[0]).coordinates(*inner.named_children)


@pytest.mark.parametrize(
    ("index", "found"),
    [
        ("c", [("c", "")]),
        ("a * C + b * 16 + c", [("a", ""), ("b * 16 + c", "C")]),
        ("(a * B + b) * C + c", [("a", ""), ("b", "B"), ("c", "C")]),
        ("(size_t)a * B * C + b * C + c - 1", [("a", ""), ("b", "B"), ("c - 1", "C")]),
        ("row + c", [("a", ""), ("c", "C")]),
        ("a * B + b * C", []),
    ],
)
def test_what_an_index_counts_and_how_far(index: str, found: list[tuple[str, str]]) -> None:
    assert [(one.words, one.size) for one in coordinates(index)] == found


@given(st.permutations(["a * B * C", "b * C", "c", "4"]))
def test_the_order_of_the_summands_is_of_no_matter(terms: list[str]) -> None:
    found = coordinates(" + ".join(terms))
    assert [one.size for one in found] == ["", "B", "C"]
    assert {*found[2].words.split(" + ")} == {"c", "4"}


PRODUCT = """
#define TILE 16
__global__ void product(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ float As[TILE][TILE], Bs[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0.0f;
    for (int t = 0; t < (K + TILE - 1) / TILE; ++t) {
        As[threadIdx.y][threadIdx.x] = A[row * K + t * TILE + threadIdx.x];
        Bs[threadIdx.y][threadIdx.x] = B[(t * TILE + threadIdx.y) * N + col];
        __syncthreads();
        for (int k = 0; k < TILE; ++k) sum += As[threadIdx.y][k] * Bs[k][threadIdx.x];
        __syncthreads();
    }
    C[row * N + col] = sum;
}
torch::Tensor run(torch::Tensor a, torch::Tensor b) {
    int M = a.size(0), K = a.size(1), N = b.size(1);
    auto c = torch::empty({M, N}, a.options());
    dim3 grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE), block(TILE, TILE);
    product<<<grid, block>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), M, N, K);
    return c;
}
"""


def test_each_tensor_is_guarded_by_its_own_bounds() -> None:
    code = as_submission(PRODUCT).replace("extension.run(x, x)", "extension.run(x, y)")
    code = code.replace("def forward(self, x)", "def forward(self, x, y)")
    lines = {
        number
        for number, line in enumerate(code.splitlines(), 1)
        if any(words in line for words in ("= A[", "= B[", "C[row"))
    }
    shapes = (TensorSpec(shape=(50, 30)), TensorSpec(shape=(30, 70)))
    load = Workload(name="w", role="nominal", inputs=shapes)
    task = Task(name="t", title="t", source="file", reference="", workloads=(load,))
    (made,) = zero_outside(parse(code), Context(task=task), lines)
    fixed = apply(code, made.edits)
    for words in (
        "(row < M && t * TILE + threadIdx.x < K ? A[row * K + t * TILE + threadIdx.x] : 0.0f)",
        "(t * TILE + threadIdx.y < K && col < N ? B[(t * TILE + threadIdx.y) * N + col] : 0.0f)",
        "if (row < M && col < N) C[row * N + col] = sum;",
    ):
        assert words in fixed
