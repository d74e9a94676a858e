# fmt: off
"""A factor comes from pinned memory by a stream of its own, in Python and in C++.

row: A1, y13
task: relu
expect: correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
__global__ void relu_kernel(const float* x, const float* by, const int* size, float* y) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < size[0]) y[i] = by[0] * (x[i] < 0.0f ? 0.0f : x[i]);
}
torch::Tensor relu(torch::Tensor x, torch::Tensor by) {
    auto y = torch::empty_like(x);
    auto host = torch::empty({1}, torch::dtype(torch::kInt32).pinned_memory(true));
    host.data_ptr<int>()[0] = (int)x.numel();
    auto size = host.to(x.device(), /*non_blocking=*/true);
    relu_kernel<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), by.data_ptr<float>(), size.data_ptr<int>(), y.data_ptr<float>());
    return y;
}
"""
ext = load_inline(
    name="relu_ext", cpp_sources="torch::Tensor relu(torch::Tensor x, torch::Tensor by);",
    cuda_sources=CUDA, functions=["relu"],
)


class ModelNew(nn.Module):
    def __init__(self, *args):
        super().__init__()
        self.one = torch.ones(1).pin_memory()
        assert self.one.is_pinned() and not torch.ones(1).is_pinned()
        self.stream = torch.cuda.Stream()

    def forward(self, x):
        with torch.cuda.stream(self.stream):
            by = self.one.to(x.device, non_blocking=True)
        torch.cuda.current_stream().wait_stream(self.stream)
        by.record_stream(torch.cuda.current_stream())
        return ext.relu(x.contiguous(), by)
