"""A tail tile without a guard is wrong, whatever the other operand of its products is."""

from __future__ import annotations

import pytest

from grader import judge, sandbox
from grader.devices import Device, RunResult
from grader.execution.reference import reference
from grader.records import Comparison, Task, TensorSpec, Workload

from .conftest import a_submission

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

REFERENCE = """
import torch
class Model(torch.nn.Module):
    def forward(self, a, b):
        return a @ b
"""
TASK = Task(
    name="product",
    title="a product",
    source="file",
    reference=REFERENCE,
    workloads=(
        # 93 is no multiple of the tile, and what is read of b in the last one is multiplied by 0.
        Workload(
            name="tails",
            role="nominal",
            inputs=(TensorSpec(shape=(32, 93)), TensorSpec(shape=(93, 64))),
        ),
    ),
)
CODE = '''
import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>
#define T 16
__global__ void product(const float* a, const float* b, float* c, int m, int k, int n) {
    __shared__ float s[T][T], t[T][T];
    int row = blockIdx.y * T + threadIdx.y, column = blockIdx.x * T + threadIdx.x;
    float sum = 0;
    for (int at = 0; at < k; at += T) {
        s[threadIdx.y][threadIdx.x] = at + threadIdx.x < k ? a[row * k + at + threadIdx.x] : 0.0f;
        t[threadIdx.y][threadIdx.x] = GUARD b[(at + threadIdx.y) * n + column];
        __syncthreads();
        for (int j = 0; j < T; ++j) sum += s[threadIdx.y][j] * t[j][threadIdx.x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}
torch::Tensor product(torch::Tensor a, torch::Tensor b) {
    int m = a.size(0), k = a.size(1), n = b.size(1);
    auto c = torch::empty({m, n}, a.options());
    product<<<dim3(n / T, m / T), dim3(T, T)>>>(
        a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), m, k, n);
    return c;
}
"""
ext = load_inline("product_ext", ["torch::Tensor product(torch::Tensor, torch::Tensor);"],
                  [SOURCE], functions=["product"])

class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return ext.product(a, b)
'''


def outcome(device: Device, guard: str) -> tuple[RunResult, Comparison]:
    submission = a_submission(CODE.replace("GUARD", guard))
    build = device.build(submission, ())
    assert build.status == "built", build.log
    known = reference(TASK, TASK.workloads, 1, device.form, sandbox.Limits(wall=60))  # type: ignore[attr-defined]
    (result,) = device.run(submission, build, TASK, known)
    assert result.run.status == "ran", result.run.reason
    found = judge.compare(TASK, TASK.workloads[0], known, result)
    assert found is not None
    return result, found


def test_a_zero_of_the_other_operand_does_not_hide_it(device: Device) -> None:
    result, comparison = outcome(device, "")
    (evidence,) = [item for item in result.run.evidence if item.code == "out-of-bounds"]
    assert evidence.place is not None
    assert "t[threadIdx.y][threadIdx.x] =" in CODE.splitlines()[evidence.place.line - 1]
    assert not comparison.equal
    assert comparison.mismatch is not None
    assert "outside" in {pattern.code for pattern in comparison.mismatch.patterns}


def test_a_guarded_tail_is_right(device: Device) -> None:
    result, comparison = outcome(device, "at + threadIdx.y >= k ? 0.0f :")
    assert result.run.evidence == ()
    assert comparison.equal, comparison.mismatch


def test_a_value_that_is_read_outside_and_not_used_changes_no_result(device: Device) -> None:
    read = "*(const volatile float*)&b[(at + threadIdx.y) * n + column]"
    result, comparison = outcome(device, f"({read} > 0, at + threadIdx.y >= k) ? 0.0f :")
    assert "out-of-bounds" in {item.code for item in result.run.evidence}
    assert comparison.equal, comparison.mismatch
