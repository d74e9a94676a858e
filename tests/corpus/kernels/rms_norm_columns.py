# task: rms-norm
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

rms_source = """
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <cuda_runtime.h>

// Neighbouring threads take neighbouring positions, so that each load of a warp is one line.
template <typename scalar_t>
__global__ void rms_norm_kernel(
    const scalar_t* __restrict__ x,
    scalar_t* __restrict__ y,
    const int features,
    const int64_t positions,
    const int64_t columns,
    const float eps) {
    const int64_t column = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= columns) return;
    const int64_t batch = column / positions;
    const int64_t position = column % positions;
    const int64_t base = batch * features * positions + position;

    float sum_squares = 0.0f;
    for (int f = 0; f < features; ++f) {
        const float v = static_cast<float>(x[base + f * positions]);
        sum_squares += v * v;
    }
    const float inv_rms = rsqrtf(sum_squares / features + eps);
    for (int f = 0; f < features; ++f) {
        const int64_t at = base + f * positions;
        y[at] = static_cast<scalar_t>(static_cast<float>(x[at]) * inv_rms);
    }
}

torch::Tensor rms_norm_cuda(torch::Tensor input, double eps) {
    TORCH_CHECK(input.is_cuda(), "input must be on the GPU");
    TORCH_CHECK(input.dim() == 4, "input must have four dimensions");
    const auto x = input.contiguous();
    auto y = torch::empty_like(x);
    const int features = x.size(1);
    const int64_t positions = x.size(2) * x.size(3);
    const int64_t columns = x.size(0) * positions;
    const int threads = 128;
    const int64_t blocks = (columns + threads - 1) / threads;
    AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "rms_norm_cuda", ([&] {
        rms_norm_kernel<scalar_t><<<blocks, threads, 0, at::cuda::getCurrentCUDAStream()>>>(
            x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(),
            features, positions, columns, static_cast<float>(eps));
    }));
    return y;
}
"""

rms_cpp = "torch::Tensor rms_norm_cuda(torch::Tensor input, double eps);"

rms_norm = load_inline(
    name="rms_norm_columns",
    cpp_sources=rms_cpp,
    cuda_sources=rms_source,
    functions=["rms_norm_cuda"],
    verbose=True,
)


class ModelNew(nn.Module):
    def __init__(self, num_features: int, eps: float = 1e-5):
        super(ModelNew, self).__init__()
        self.num_features = num_features
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return rms_norm.rms_norm_cuda(x, self.eps)
