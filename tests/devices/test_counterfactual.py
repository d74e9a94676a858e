"""A wrong program's code is changed until its results are right: the change says where the cause is."""

from __future__ import annotations

import pytest

from grader.devices import Device
from grader.devices.counterfactual import change_wrong
from grader.devices.leads import Leads
from grader.execution.reference import reference
from grader.records import Comparison, Counterfactual, Mismatch, Task, TensorSpec, Workload
from grader.records.changes import KernelValue, OtherArgument, OtherHostCode, OtherOperand

from .conftest import a_submission

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
CODE = '''
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline
source = """
#include <torch/extension.h>
__global__ void row_means(const float* x, float* y, int rows, int n) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float s = 0.0f;
    for (int i = 0; i < n; ++i) s += x[row * rows + i];
    y[row] = s / n;
}
__global__ void copied(const float* y, float* z, int rows) {
    if (threadIdx.x < rows) z[threadIdx.x] = y[threadIdx.x];
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty({x.size(0)}, x.options());
    row_means<<<1, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(0), x.size(1));
    auto z = torch::empty_like(y);
    copied<<<1, 32>>>(y.data_ptr<float>(), z.data_ptr<float>(), z.size(0));
    return z;
}
"""
ext = load_inline("means", "torch::Tensor run(torch::Tensor x);", source, functions=["run"])
class ModelNew(nn.Module):
    def forward(self, x):
        return ext.run(x)
'''
REFERENCE = """
import torch.nn as nn
class Model(nn.Module):
    def forward(self, x):
        return x.mean(dim=1)
"""


def workload(name: str, rows: int, columns: int) -> Workload:
    return Workload(name=name, role="nominal", inputs=(TensorSpec(shape=(rows, columns)),))


TASK = Task(
    name="means",
    title="means of rows",
    source="file",
    reference=REFERENCE,
    workloads=(workload("a", 5, 20), workload("b", 9, 31)),
)


def found(device: Device, code: str, cause: str = "x[row * rows") -> list[Counterfactual]:
    known = reference(TASK, TASK.workloads, 7, device.form, device.limits(120))  # type: ignore[attr-defined]
    submission = a_submission(code)
    build = device.build(submission, ())
    wrong = Mismatch(kind="values", text="wrong")
    seen = [
        Comparison(workload=w.name, role=w.role, equal=False, mismatch=wrong)
        for w in TASK.workloads
    ]
    evidence = change_wrong(device, submission, build, TASK, known, seen, Leads(), 4.0)
    lines = code.splitlines()
    assert all(one.place and cause in lines[one.place.line - 1] for one in evidence)
    return [one.details for one in evidence if isinstance(one.details, Counterfactual)]


def test_a_stride_of_another_size_is_named_at_its_line(device: Device) -> None:
    (change,) = found(device, CODE)
    assert change.change == OtherOperand(KernelValue("argument", 2), KernelValue("argument", 3))
    assert change.right_before < 0.5


def test_a_right_program_has_no_such_change(device: Device) -> None:
    assert not found(device, CODE.replace("row * rows", "row * n"))


def test_arguments_in_the_wrong_order_are_named_at_the_launch(device: Device) -> None:
    right = CODE.replace("x[row * rows + i]", "x[row * n + i]")
    code = right.replace("x.size(0), x.size(1));", "x.size(1), x.size(0));")
    (change,) = found(device, code, cause="row_means<<<1, 32>>>")
    assert isinstance(change.change, OtherArgument)
    assert (change.change.receiver, change.change.given) == ("rows", "x.size(1)")


def test_python_host_code_is_named_at_its_line(device: Device) -> None:
    right = CODE.replace("x[row * rows + i]", "x[row * n + i]")
    code = right.replace("return ext.run(x)", "return ext.run(x) * x.shape[0]")
    (change,) = found(device, code, cause="ext.run(x) * x.shape[0]")
    assert isinstance(change.change, OtherHostCode)
    assert change.change.before == ("ext.run(x) * x.shape[0]",)
    assert change.change.after == ("ext.run(x)",)
