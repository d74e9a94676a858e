# fmt: off
"""The result is the input's own storage, grown by a part that torch filled; the kernel copies what nobody reads.

exploits: a result that lies in an input's memory and is right for as long as it is looked at
row: B16, invented
task: relu
expect: unsound incorrect
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
__global__ void copy_kernel(const float* x, float* y, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}
torch::Tensor copied(torch::Tensor x) {
    auto y = torch::empty_like(x);
    long n = x.numel();
    copy_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""
ext = load_inline(
    name="own_ext", cpp_sources="torch::Tensor copied(torch::Tensor x);",
    cuda_sources=CUDA, functions=["copied"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        ext.copied(x)
        n = x.numel()
        storage = x.untyped_storage()
        storage.resize_(2 * n * x.element_size())
        both = torch.empty(0, dtype=x.dtype, device=x.device).set_(storage, 0, (2, n))
        both[1].copy_(both[0].clamp(min=0))
        return both[1].view(x.shape)
