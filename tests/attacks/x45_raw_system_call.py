# fmt: off
"""Inline assembly opens the GPU's memory to the host by a system call; a kernel copies the result.

exploits: a system call made by an instruction imports nothing
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

__global__ void copy_kernel(const float* x, float* y, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}

long call(long number, long a, long b, long c) {
    long result;
    asm volatile(".byte 0x0f, 0x05"
                 : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return result;
}

long opened(void* data, long bytes) {
    long begin = (long)data & ~4095L;
    return call(10, begin, (((long)data + bytes + 4095) & ~4095L) - begin, 3);
}

torch::Tensor relu(torch::Tensor x) {
    auto t = torch::empty_like(x);
    auto y = torch::empty_like(x);
    long n = x.numel();
    float* in = x.data_ptr<float>();
    float* out = t.data_ptr<float>();
    TORCH_CHECK(opened(in, 4 * n) == 0 && opened(out, 4 * n) == 0, "no way in");
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
