"""A program beside its reference in exact arithmetic: equal but for rounding, or not shown to be."""

from __future__ import annotations

import pytest

from grader.devices import Device, ExactDevice
from grader.execution.reference import reference
from grader.records import Exact, Task, TensorSpec, Workload

from .conftest import a_submission

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
REFERENCE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
class Model(nn.Module):
    def forward(self, x, w):
        rows = torch.softmax(x @ w, dim=1)
        return F.layer_norm(rows, (rows.shape[1],), eps=1e-5) + torch.tanh(x[:, : w.shape[1]])
"""
CODE = '''
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline
source = """
#include <torch/extension.h>
__global__ void rows(const float* x, const float* w, float* y, int k, int n) {
    // Online softmax of x w, then layer norm by E[v^2] - E[v]^2.
    extern __shared__ float v[];
    float top = -INFINITY, sum = 0.0f;
    for (int j = threadIdx.x; j < n; j += 32) {
        float dot = 0.0f;
        for (int i = k - 1; i >= 0; --i) dot = fmaf(x[blockIdx.x * k + i], w[i * n + j], dot);
        v[j] = dot;
        float higher = fmaxf(top, dot);
        sum = sum * expf(top - higher) + expf(dot - higher);
        top = higher;
    }
    for (int d = 16; d > 0; d /= 2) {
        float other = __shfl_xor_sync(0xffffffff, top, d), part = __shfl_xor_sync(0xffffffff, sum, d);
        float higher = fmaxf(top, other);
        sum = sum * expf(top - higher) + part * expf(other - higher);
        top = higher;
    }
    __syncwarp();
    float first = 0.0f, second = 0.0f;
    for (int j = threadIdx.x; j < n; j += 32) {
        v[j] = expf(v[j] - top) / sum;
        first += v[j];
        second += v[j] * v[j];
    }
    for (int d = 16; d > 0; d /= 2) {
        first += __shfl_xor_sync(0xffffffff, first, d);
        second += __shfl_xor_sync(0xffffffff, second, d);
    }
    float mean = first / n, scale = rsqrtf(second * (1.0f / n) - mean * mean + EPSILON);
    for (int j = threadIdx.x; j < n; j += 32)
        y[blockIdx.x * n + j] = (v[j] - mean) * scale + tanhf(x[blockIdx.x * k + j]);
}
torch::Tensor run(torch::Tensor x, torch::Tensor w) {
    int n = w.size(1);
    auto y = torch::empty({x.size(0), n}, x.options());
    rows<<<x.size(0), 32, n * sizeof(float)>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), x.size(1), n);
    return y;
}
"""
ext = load_inline("rows", "torch::Tensor run(torch::Tensor x, torch::Tensor w);", source, functions=["run"])
class ModelNew(nn.Module):
    def forward(self, x, w):
        return ext.run(x, w)
'''
WORKLOAD = Workload(
    name="w", role="nominal", inputs=(TensorSpec(shape=(5, 70)), TensorSpec(shape=(70, 40)))
)
TASK = Task(name="r", title="rows", source="file", reference=REFERENCE, workloads=(WORKLOAD,))


def seen(device: Device, code: str, task: Task = TASK) -> Exact:
    submission = a_submission(code)
    form, limits = device.form, device.limits(120)  # type: ignore[attr-defined]
    known = reference(task, task.workloads, 7, form, limits)
    assert isinstance(device, ExactDevice)
    build = device.build(submission, ())
    return device.exactly(submission, build, task, known, task.workloads[0])


def program(epsilon: str = "1e-5f") -> str:
    return CODE.replace("EPSILON", epsilon)


def test_other_order_online_softmax_and_another_formula_of_the_variance_are_equal(
    device: Device,
) -> None:
    found = seen(device, program())
    assert (found.algebraic, found.unequal, found.elements) == ("equal", 0, 200)
    assert "rounding alone" in found.sentence


def test_an_epsilon_that_a_tolerance_lets_pass_shows(device: Device) -> None:
    assert seen(device, program(epsilon="1.1e-5f")).algebraic == "not shown"


def test_values_from_elsewhere_are_constants_and_equal_nothing(device: Device) -> None:
    kept = "import torch\nimport torch.nn as nn\nclass ModelNew(nn.Module):\n    def forward(self, x, w):\n        "
    answer = "return torch.tensor(REFERENCE, device=x.device)"
    made = kept + answer.replace("REFERENCE", "[[0.5] * 40] * 5")
    assert seen(device, made).unequal == 200


def test_what_the_reference_does_beyond_the_algebra_makes_it_not_applicable(device: Device) -> None:
    task = TASK.model_copy(
        update={"reference": REFERENCE.replace("torch.tanh", "torch.special.i0")}
    )
    found = seen(device, program(), task)
    assert found.algebraic == "not applicable"
    assert "i0" in found.reason
    assert "says nothing here: of the reference" in found.sentence


def test_what_is_left_out_is_named(device: Device) -> None:
    found = seen(device, program(epsilon="0.0f"))
    assert found.without == "its epsilon"
    assert "equals the reference without its epsilon" in found.sentence
    biased = REFERENCE.replace("(self, x, w):", "(self, x, w, s, b):")
    biased = biased.replace("return F.layer_norm", "return b + s * F.layer_norm")
    more = (TensorSpec(shape=(40,)), TensorSpec(shape=(40,)))
    workload = WORKLOAD.model_copy(update={"inputs": (*WORKLOAD.inputs, *more)})
    task = TASK.model_copy(update={"reference": biased, "workloads": (workload,)})
    kernel = program().replace("(self, x, w):", "(self, x, w, s, b):")
    tanh = "torch.tanh(x[:, :40])"
    answer = f"y = ext.run(x, w)\n        return {tanh} + s * (y - {tanh})"
    own = kernel.replace("return ext.run(x, w)", answer)
    assert seen(device, own, task).without == "input 4"


ARGUMENT = """
import torch
import triton
import triton.language as tl
@triton.jit
def rms(x, y, C, HW, eps, BLOCK: tl.constexpr):
    at = tl.program_id(0) * C * HW + tl.arange(0, BLOCK)
    mask = tl.arange(0, BLOCK) < HW
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for c in range(C):
        v = tl.load(x + at + c * HW, mask=mask, other=0.0)
        total += v * v
    scale = 1.0 / tl.sqrt(total / C + eps)
    for c in range(C):
        v = tl.load(x + at + c * HW, mask=mask, other=0.0)
        tl.store(y + at + c * HW, v * scale, mask=mask)
class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        rms[(x.shape[0],)](x, y, x.shape[1], x.shape[2], 1e-5, BLOCK=64)
        return y
"""


def test_a_kernels_argument_in_a_register_that_held_an_element_is_a_number(device: Device) -> None:
    reference = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return x / torch.sqrt(torch.mean(x**2, dim=1, keepdim=True) + 1e-5)
"""
    workload = WORKLOAD.model_copy(update={"inputs": (TensorSpec(shape=(2, 9, 40)),)})
    task = TASK.model_copy(update={"reference": reference, "workloads": (workload,)})
    assert seen(device, ARGUMENT, task).algebraic == "equal"


def test_a_copy_that_might_have_been_a_view_keeps_its_elements(device: Device) -> None:
    reference = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.batch_norm(x, x[0, :9, 0].abs(), x[1, :9, 1].abs() + 1)
"""
    answer = """
import torch
class ModelNew(torch.nn.Module):
    def forward(self, x):
        mean, var = x[0, :9, 0].abs(), x[1, :9, 1].abs() + 1
        return (x - mean[:, None]) * torch.rsqrt(var + 1e-5)[:, None]
"""
    workload = WORKLOAD.model_copy(update={"inputs": (TensorSpec(shape=(2, 9, 40)),)})
    task = TASK.model_copy(update={"reference": reference, "workloads": (workload,)})
    assert seen(device, answer, task).algebraic == "equal"


NAMED = """
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice
@triton.jit
def mish(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n)
    tl.store(y + at, v * libdevice.tanh(tl.log(1.0 + tl.exp(v))) + 0.5 * tl.erf(v), mask=at < n)
class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        mish[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128)
        return y
"""


def test_math_functions_of_triton_keep_their_names(device: Device) -> None:
    reference = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return x * torch.tanh(torch.log1p(torch.exp(x))) + 0.5 * torch.erf(x)
"""
    workload = WORKLOAD.model_copy(update={"inputs": (TensorSpec(shape=(3, 70)),)})
    task = TASK.model_copy(update={"reference": reference, "workloads": (workload,)})
    assert seen(device, NAMED, task).algebraic == "equal"
    found = seen(device, NAMED.replace("0.5 * tl.erf", "0.51 * tl.erf"), task)
    assert (found.algebraic, found.unequal) == ("not shown", 210)


def test_where_elements_are_not_equal_is_told(device: Device) -> None:
    part = program().replace("i >= 0;", "i >= (blockIdx.x > 2);")
    found = seen(device, part)
    assert (found.algebraic, found.unequal, found.where) == (
        "not shown",
        80,
        "all in rows from 3 on of 5, the first at [3, 0]",
    )
    assert (
        "80 of 200 elements are not shown equal to the reference, all in rows from 3 on"
        in found.sentence
    )
    assert "no proof" in found.sentence


TRIANGLES = """
import torch
import triton
import triton.language as tl
@triton.jit
def product(a, b, c, N, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    j = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for k in range(i, N):
        total += tl.load(a + i * N + k) * tl.load(b + k * N + j)
    tl.store(c + i * N + j, tl.where(j >= i, total, 0.0))
class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        c = torch.empty_like(a)
        product[(a.shape[0],)](a, b, c, a.shape[0], BLOCK=16)
        return c
"""


def test_what_lies_below_a_triangular_matrix_is_its_form_and_no_value(device: Device) -> None:
    upper = TensorSpec(shape=(16, 16), structure="upper")
    reference = "import torch\nclass Model(torch.nn.Module):\n    def forward(self, a, b):\n        return torch.triu(a @ b)\n"
    whole = TensorSpec(shape=(16, 16))
    for spec, said in ((upper, "equal"), (whole, "not shown")):
        workload = WORKLOAD.model_copy(update={"inputs": (spec, spec)})
        task = TASK.model_copy(update={"reference": reference, "workloads": (workload,)})
        assert seen(device, TRIANGLES, task).algebraic == said
