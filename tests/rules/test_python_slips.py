"""Slips of Python that only the result shows, and pointers in the tensor's own type."""

from __future__ import annotations

from grader.repair.fixes.python_slips import python_slips
from grader.source import parse
from grader.source.edits import apply

MODEL = """
import torch
from torch import nn

class ModelNew(nn.Module):
    def __init__(self, size, stride):
        super().__init__()
        self.layer = nn.Linear(size, size)
        self.size = size
        self.stride = size
    def forward(self, x):
        return ops.run(PRODUCT, self.stride)
"""
KERNEL = """
__global__ void pick(const double* x, const int* place, float* y, int n) {
    if (threadIdx.x < n) y[threadIdx.x] = x[place[threadIdx.x]];
}
torch::Tensor run(torch::Tensor x, torch::Tensor place) {
    auto y = torch::empty_like(x);
    pick<<<1, 32>>>(x.data_ptr<double>(), place.data_ptr<int>(), y.data_ptr<float>(), 32);
    return y;
}
"""


def test_a_weight_is_transposed_and_an_argument_used() -> None:
    for product in ("torch.matmul(x, self.layer.weight)", "x @ self.layer.weight"):
        code = MODEL.replace("PRODUCT", product)
        first, second = (apply(code, one.edits) for one in python_slips(parse(code)))
        assert f"{product.removesuffix(')')}.t()" in first
        assert "self.stride = stride" in second


def test_what_is_transposed_or_used_is_left_alone() -> None:
    code = MODEL.replace("PRODUCT", "x @ self.layer.weight.t()").replace(
        "stride = size", "stride = stride or size"
    )
    assert list(python_slips(parse(code))) == []
