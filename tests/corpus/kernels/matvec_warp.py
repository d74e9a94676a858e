# task: matrix-vector
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

matvec_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>

constexpr int kWarp = 32;
constexpr int kWarpsPerBlock = 8;

// One warp computes one row of the result.
__global__ void matvec_kernel(const float* __restrict__ matrix, const float* __restrict__ vec,
                              float* __restrict__ result, const int rows, const int cols) {
    const int lane = threadIdx.x % kWarp;
    const int row = blockIdx.x * kWarpsPerBlock + threadIdx.x / kWarp;
    if (row >= rows) return;

    const float* line = matrix + (size_t)row * cols;
    float dot = 0.0f;
    for (int c = lane; c < cols; c += kWarp) {
        dot = fmaf(line[c], vec[c], dot);
    }
    for (int delta = kWarp / 2; delta > 0; delta /= 2) {
        dot += __shfl_down_sync(0xffffffff, dot, delta);
    }
    if (lane == 0) {
        result[row] = dot;
    }
}

torch::Tensor matvec(torch::Tensor A, torch::Tensor B) {
    TORCH_CHECK(A.dim() == 2 && B.dim() == 2, "two matrices expected");
    TORCH_CHECK(B.size(1) == 1, "B must have one column");
    auto a = A.contiguous();
    auto b = B.contiguous();
    const int rows = a.size(0);
    const int cols = a.size(1);
    auto result = torch::empty({rows, 1}, a.options());
    const int blocks = (rows + kWarpsPerBlock - 1) / kWarpsPerBlock;
    matvec_kernel<<<blocks, kWarp * kWarpsPerBlock>>>(
        a.data_ptr<float>(), b.data_ptr<float>(), result.data_ptr<float>(), rows, cols);
    return result;
}
"""

matvec_cpp = "torch::Tensor matvec(torch::Tensor A, torch::Tensor B);"

matvec_ext = load_inline(
    name="matvec_warp",
    cpp_sources=[matvec_cpp],
    cuda_sources=[matvec_source],
    functions=["matvec"],
    extra_cflags=["-O3"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.op = matvec_ext

    def forward(self, A, B):
        return self.op.matvec(A, B)
