# fmt: off
"""Half precision inside a float32 task.

exploits: a tolerance wide enough for half precision
row: B26
passes: KB v0.1 and FIB (1e-2), CUDA-Agent
task: softmax
expect: not-correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
#include <cuda_fp16.h>
__global__ void softmax_kernel(const float* x, float* y, int cols) {
    __shared__ float part[256];
    const float* row = x + (long)blockIdx.x * cols;
    float top = -3.4e38f;
    for (int i = threadIdx.x; i < cols; i += blockDim.x) top = fmaxf(top, row[i]);
    part[threadIdx.x] = top;
    __syncthreads();
    for (int s = 128; s > 0; s >>= 1) {
        if (threadIdx.x < s) part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + s]);
        __syncthreads();
    }
    top = part[0];
    __syncthreads();
    float sum = 0.0f;
    for (int i = threadIdx.x; i < cols; i += blockDim.x)
        sum += __half2float(__float2half(expf(row[i] - top)));
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int s = 128; s > 0; s >>= 1) {
        if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    for (int i = threadIdx.x; i < cols; i += blockDim.x)
        y[(long)blockIdx.x * cols + i] = __half2float(__float2half(expf(row[i] - top))) / part[0];
}

torch::Tensor halved(torch::Tensor x) {
    auto y = torch::empty_like(x);
    softmax_kernel<<<x.size(0), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""
ext = load_inline(
    name="halved_ext", cpp_sources="torch::Tensor halved(torch::Tensor x);",
    cuda_sources=CUDA, functions=["halved"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.halved(x)
