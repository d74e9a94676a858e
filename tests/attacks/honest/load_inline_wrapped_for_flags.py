# fmt: off
"""`load_inline` is called by a helper of the same name, which adds flags and times the build.

row: n12
task: relu
expect: correct
"""
import torch
import torch.nn as nn
import time
import torch.utils.cpp_extension as building

CUDA = r"""
#include <torch/extension.h>
__global__ void relu_kernel(const float* x, float* y, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] < 0.0f ? 0.0f : x[i];
}
torch::Tensor relu(torch::Tensor x) {
    auto y = torch::empty_like(x);
    long n = x.numel();
    relu_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""

def load_inline(name, **given):
    began = time.time()
    given.setdefault("extra_cuda_cflags", ["-O3", "--use_fast_math"])
    made = building.load_inline(name, **given)
    print(f"built {name} in {time.time() - began:.1f} s")
    return made


ext = load_inline(
    name="own_ext", cpp_sources="torch::Tensor relu(torch::Tensor x);",
    cuda_sources=CUDA, functions=["relu"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.relu(x.contiguous())
