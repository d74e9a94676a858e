# fmt: off
"""The C library's function that opens memory is imported under its private name.

exploits: a list of names that a library may not import knows one of a function's names
row: B6, D1, G4, invented
passes: simulators whose memory the host may reach
task: relu
policy: custom-only
expect: not-correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>

#define NAME(a, b) a##b
extern "C" int NAME(__mpro, tect)(void*, size_t, int);

__global__ void copy_kernel(const float* x, float* y, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}

torch::Tensor relu(torch::Tensor x) {
    auto t = torch::empty_like(x);
    auto y = torch::empty_like(x);
    long n = x.numel();
    float* in = x.data_ptr<float>();
    float* out = t.data_ptr<float>();
    for (void* data : {(void*)in, (void*)out}) {
        long begin = (long)data & ~4095L;
        NAME(__mpro, tect)((void*)begin, ((4 * n + 8191) & ~4095L), 3);
    }
    for (long i = 0; i < n; ++i) out[i] = in[i] < 0.0f ? 0.0f : in[i];
    copy_kernel<<<(n + 255) / 256, 256>>>(out, y.data_ptr<float>(), n);
    return y;
}
"""
ext = load_inline(
    name="own_ext", cpp_sources="torch::Tensor relu(torch::Tensor x);",
    cuda_sources=CUDA, functions=["relu"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.relu(x)
