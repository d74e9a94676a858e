# task: matrix-scalar
# The pointers reach the kernel inside of a struct.
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
struct Job {
    const float* from;
    float* to;
    long long count;
    float factor;
};

__global__ void scale(Job job) {
    const long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < job.count; i += step) {
        job.to[i] = job.from[i] * job.factor;
    }
}

torch::Tensor run(torch::Tensor x, double factor) {
    x = x.contiguous();
    auto y = torch::empty_like(x);
    const Job job{x.data_ptr<float>(), y.data_ptr<float>(), x.numel(), (float)factor};
    const long long blocks = (job.count + 255) / 256;
    scale<<<(unsigned)std::min<long long>(blocks, 4096), 256>>>(job);
    return y;
}
"""

cpp_source = "torch::Tensor run(torch::Tensor x, double factor);"

extension = load_inline(
    name="right_arguments_in_a_struct",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["run"],
)

class ModelNew(nn.Module):
    def forward(self, x, s):
        return extension.run(x, s)
