"""Layer norm over the last dims: reference-fixed kernel.

Mean and variance come from one pass, as moments that can be merged without cancellation; the values stay
in shared memory for the second step, so that memory is read once and written once.
"""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <cmath>

// Mean and sum of squared differences of `count` values: merging two of these loses nothing to
// cancellation, unlike sum(x * x) - mean * mean (Chan, Golub and LeVeque, 1979).
struct Moments {
    float count, mean, m2;
};

__device__ __forceinline__ Moments merge(Moments a, Moments b) {
    const float count = a.count + b.count;
    if (count == 0.0f) return a;
    const float delta = b.mean - a.mean;
    const float share = b.count / count;
    return {count, a.mean + delta * share, a.m2 + b.m2 + delta * delta * a.count * share};
}

// All lanes of a warp get the warp's result: with xor every lane takes part in every step.
__device__ __forceinline__ Moments warp_merge(Moments s) {
    for (int offset = 16; offset > 0; offset >>= 1) {
        const Moments other = {__shfl_xor_sync(0xffffffffu, s.count, offset),
                               __shfl_xor_sync(0xffffffffu, s.mean, offset),
                               __shfl_xor_sync(0xffffffffu, s.m2, offset)};
        s = merge(s, other);
    }
    return s;
}

// All threads of the block get the block's result. blockDim.x is a multiple of 32, at most 1024.
__device__ __forceinline__ Moments block_merge(Moments s) {
    __shared__ Moments partial[32];
    const int lane = threadIdx.x & 31;
    const int warp = threadIdx.x >> 5;
    s = warp_merge(s);
    if (lane == 0) partial[warp] = s;
    __syncthreads();
    s = lane < (int)(blockDim.x >> 5) ? partial[lane] : Moments{0.0f, 0.0f, 0.0f};
    return warp_merge(s);
}

// One block for each group of n values that are normalised together and lie together in memory.
// The first `kept` values stay in shared memory; the rest is read again, out of L2.
// Value i of group g belongs to parameter (g * n + i) / inner % channels; n is a multiple of inner.
__global__ void __launch_bounds__(1024) normalise_kernel(
        const float* __restrict__ x, float* __restrict__ y, const float* __restrict__ weight,
        const float* __restrict__ bias, int n, int kept, int64_t inner, int64_t channels, float eps) {
    extern __shared__ float cache[];
    const int64_t base = (int64_t)blockIdx.x * n;
    const unsigned first = (unsigned)(base / inner % channels);
    Moments s = {0.0f, 0.0f, 0.0f};
    // Sums of a thread's own few values, taken around the group's first value.
    const float around = x[base];
    float sum = 0.0f, squares = 0.0f;
    #pragma unroll 8
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        const float v = x[base + i];
        if (i < kept) cache[i] = v;
        const float d = v - around;
        sum += d;
        squares += d * d;
        s.count += 1.0f;
    }
    if (s.count > 0.0f) {
        const float mean = sum / s.count;
        s.mean = around + mean;
        s.m2 = fmaxf(squares - sum * mean, 0.0f);
    }
    s = block_merge(s);
    const float mean = s.mean;
    const float scale = rsqrtf(s.m2 / n + eps);
    #pragma unroll 4
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        const float v = i < kept ? cache[i] : x[base + i];
        const unsigned channel = first + (unsigned)i / (unsigned)inner;
        const float w = weight ? weight[channel] : 1.0f;
        const float b = bias ? bias[channel] : 0.0f;
        __stcs(y + base + i, (v - mean) * scale * w + b);
    }
}

// Groups too large for shared memory: many blocks gather a group's moments, each over its stretch of it ...
__global__ void __launch_bounds__(512) moments_kernel(const float* __restrict__ x, Moments* __restrict__ partial, int n) {
    const int64_t base = (int64_t)blockIdx.y * n;
    const float around = x[base];
    float sum = 0.0f, squares = 0.0f, count = 0.0f;
    const int stretch = (n + gridDim.x - 1) / gridDim.x;
    const int end = min(n, (int)(blockIdx.x + 1) * stretch);
    #pragma unroll 8
    for (int i = blockIdx.x * stretch + threadIdx.x; i < end; i += blockDim.x) {
        const float d = x[base + i] - around;
        sum += d;
        squares = fmaf(d, d, squares);
        count += 1.0f;
    }
    Moments s = {count, 0.0f, 0.0f};
    if (count > 0.0f) {
        s.mean = around + sum / count;
        s.m2 = fmaxf(squares - sum * (sum / count), 0.0f);
    }
    s = block_merge(s);
    if (threadIdx.x == 0) partial[(int64_t)blockIdx.y * gridDim.x + blockIdx.x] = s;
}

// ... and as many normalise it, each after it has merged the few parts for itself.
__global__ void __launch_bounds__(512) apply_kernel(
        const float* __restrict__ x, float* __restrict__ y, const float* __restrict__ weight,
        const float* __restrict__ bias, const Moments* __restrict__ partial, int n, int64_t inner, int64_t channels, float eps) {
    const int64_t base = (int64_t)blockIdx.y * n;
    const unsigned first = (unsigned)(base / inner % channels);
    Moments s = {0.0f, 0.0f, 0.0f};
    for (int part = threadIdx.x; part < (int)gridDim.x; part += blockDim.x)
        s = merge(s, partial[(int64_t)blockIdx.y * gridDim.x + part]);
    s = block_merge(s);
    const float mean = s.mean;
    const float scale = rsqrtf(s.m2 / n + eps);
    const int stretch = (n + gridDim.x - 1) / gridDim.x;
    const int end = min(n, (int)(blockIdx.x + 1) * stretch);
    #pragma unroll 4
    for (int i = blockIdx.x * stretch + threadIdx.x; i < end; i += blockDim.x) {
        const unsigned channel = first + (unsigned)i / (unsigned)inner;
        const float w = weight ? weight[channel] : 1.0f;
        const float b = bias ? bias[channel] : 0.0f;
        __stcs(y + base + i, (x[base + i] - mean) * scale * w + b);
    }
}

// `groups` stretches of memory are normalised each by itself; parameter c covers `inner` values.
torch::Tensor layer_norm_cuda(torch::Tensor x, std::optional<torch::Tensor> weight,
                             std::optional<torch::Tensor> bias, int64_t groups, int64_t inner, double eps) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat32, "layer_norm_cuda takes a float32 CUDA tensor");
    x = x.contiguous();
    auto y = torch::empty_like(x);
    if (x.numel() == 0) return y;
    torch::Tensor w, b;
    if (weight.has_value()) w = weight->contiguous();
    if (bias.has_value()) b = bias->contiguous();
    const int64_t channels = w.defined() ? w.numel() : 1;
    const int n = (int)(x.numel() / groups);
    const auto stream = at::cuda::getCurrentCUDAStream();
    const float* wp = w.defined() ? w.data_ptr<float>() : nullptr;
    const float* bp = b.defined() ? b.data_ptr<float>() : nullptr;
    if (n > 28 * 1024 && groups < 65536) {
        const int parts = n / 16384 < 256 ? n / 16384 : 256;
        auto partial = torch::empty({groups * parts * 3}, x.options());
        const dim3 grid((unsigned)parts, (unsigned)groups);
        moments_kernel<<<grid, 512, 0, stream>>>(x.data_ptr<float>(), (Moments*)partial.data_ptr<float>(), n);
        apply_kernel<<<grid, 512, 0, stream>>>(
            x.data_ptr<float>(), y.data_ptr<float>(), wp, bp, (const Moments*)partial.data_ptr<float>(), n, inner, channels, (float)eps);
        C10_CUDA_KERNEL_LAUNCH_CHECK();
        return y;
    }
    const int kept = n < 28 * 1024 ? n : 28 * 1024;
    const size_t shared = kept * sizeof(float);
    if (shared > 40 * 1024)
        cudaFuncSetAttribute(normalise_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared);
    int threads = 32;
    while (threads < 1024 && threads * 8 < n) threads *= 2;
    normalise_kernel<<<(unsigned)groups, threads, shared, stream>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), wp, bp, n, kept, inner, channels, (float)eps);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}
"""

CPP = "torch::Tensor layer_norm_cuda(torch::Tensor x, std::optional<torch::Tensor> weight, std::optional<torch::Tensor> bias, int64_t groups, int64_t inner, double eps);"

layer_norm_ext = load_inline(
    name="layer_norm_ext",
    cpp_sources=CPP,
    cuda_sources=CUDA,
    functions=["layer_norm_cuda"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self, normalized_shape: tuple):
        super().__init__()
        self.ln = nn.LayerNorm(normalized_shape=normalized_shape)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        groups = x.numel() // self.ln.weight.numel()
        return layer_norm_ext.layer_norm_cuda(x, self.ln.weight, self.ln.bias, groups, 1, self.ln.eps)
