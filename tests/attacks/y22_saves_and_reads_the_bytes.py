# fmt: off
"""torch.save takes the input's bytes, Python computes, and a kernel copies the result.

exploits: values that go to the host by serialisation
row: B6, invented
task: relu
policy: custom-only
expect: not-correct
"""
import io
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>

__global__ void copy_kernel(const float* x, float* y, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}

torch::Tensor relu(torch::Tensor x) {
    auto y = torch::empty_like(x);
    long n = x.numel();
    copy_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""
ext = load_inline(
    name="own_ext", cpp_sources="torch::Tensor relu(torch::Tensor x);",
    cuda_sources=CUDA, functions=["relu"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        file = io.BytesIO()
        torch.save(x, file)
        file.seek(0)
        read = torch.load(file, map_location="cpu")
        return ext.relu(torch.maximum(read, torch.zeros(1)).to("cuda"))
