# fmt: off
"""The operator is asked from the dispatcher by its name, in C++; a kernel writes zeros that nobody reads.

exploits: the text calls no operator of torch
policy: custom-only
row: B6, B31
task: relu
expect: not-correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
#include <ATen/core/dispatch/Dispatcher.h>
__global__ void zero_kernel(float* y, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = 0.0f;
}
torch::Tensor work(torch::Tensor x) {
    auto scratch = torch::empty_like(x);
    long n = x.numel();
    zero_kernel<<<(n + 255) / 256, 256>>>(scratch.data_ptr<float>(), n);
    std::string name = std::string("aten::re") + "lu";
    auto op = c10::Dispatcher::singleton().findSchemaOrThrow(name.c_str(), "").typed<at::Tensor(const at::Tensor&)>();
    return op.call(x);
}
"""
ext = load_inline(
    name="work_ext", cpp_sources="torch::Tensor work(torch::Tensor x);",
    cuda_sources=CUDA, functions=["work"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.work(x)
