"""Batch norm (inference: running statistics): reference-fixed kernel.

The statistics of a channel are shared by many blocks; what is left for each value is one multiply and
add with its channel's scale and shift.
"""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <cmath>

constexpr int kEach = 2;                 // vectors of four values of a thread
constexpr int kPiece = 4 * kEach * 256;  // values of a plane that a block takes

// y = x * scale + shift with one scale and one shift for each channel. A block takes a piece of a plane: one division a
// block, and none for a value.
__global__ void __launch_bounds__(256) affine_kernel(
        const float* __restrict__ x, float* __restrict__ y, const float* __restrict__ scale,
        const float* __restrict__ shift, int64_t inner, int64_t channels, int64_t pieces, bool alike) {
    const int64_t plane = blockIdx.x / pieces;
    const int64_t begin = blockIdx.x % pieces * kPiece;
    const int count = (int)min((int64_t)kPiece, inner - begin);
    const float a = scale[plane % channels];
    const float b = shift[plane % channels];
    const float* __restrict__ from = x + plane * inner + begin;
    float* __restrict__ to = y + plane * inner + begin;
    // Up to three values before the first 16-byte boundary and after the last one: one for each of a few threads.
    const int head = alike ? min(count, (int)(-((uintptr_t)from / 4) & 3)) : count;
    const int vectors = (count - head) / 4;
    const float4* __restrict__ wide_from = (const float4*)(from + head);
    float4* __restrict__ wide_to = (float4*)(to + head);
    float4 v[kEach];  // on their way before the first is used
    #pragma unroll
    for (int k = 0; k < kEach; ++k) {
        const int i = threadIdx.x + k * 256;
        if (i < vectors) v[k] = wide_from[i];
    }
    #pragma unroll
    for (int k = 0; k < kEach; ++k) {
        const int i = threadIdx.x + k * 256;
        if (i < vectors) wide_to[i] = make_float4(fmaf(v[k].x, a, b), fmaf(v[k].y, a, b), fmaf(v[k].z, a, b), fmaf(v[k].w, a, b));
    }
    for (int i = threadIdx.x; i < count - 4 * vectors; i += 256) {
        const int edge = i < head ? i : 4 * vectors + i;
        to[edge] = fmaf(from[edge], a, b);
    }
}

// From running statistics to scale and shift, so that the large kernel does one multiply and add.
__global__ void fold_kernel(
        const float* __restrict__ mean, const float* __restrict__ variance, const float* __restrict__ weight,
        const float* __restrict__ bias, float* __restrict__ scale, float* __restrict__ shift, int64_t channels, float eps) {
    const int64_t c = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= channels) return;
    const float s = (weight ? weight[c] : 1.0f) * rsqrtf(variance[c] + eps);
    scale[c] = s;
    shift[c] = (bias ? bias[c] : 0.0f) - mean[c] * s;
}

// Mean and sum of squared differences: merging these loses nothing to cancellation (Chan et al., 1979).
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
    for (int offset = 16; offset > 0; offset >>= 1)
        s = merge(s, {__shfl_xor_sync(0xffffffffu, s.count, offset), __shfl_xor_sync(0xffffffffu, s.mean, offset),
                      __shfl_xor_sync(0xffffffffu, s.m2, offset)});
    return s;
}

// Statistics of one channel, shared by gridDim.y * gridDim.z blocks: each leaves its part in `partial`.
__global__ void __launch_bounds__(256) moments_kernel(
        const float* __restrict__ x, Moments* __restrict__ partial, int64_t batch, int64_t channels, int64_t inner) {
    __shared__ Moments warps[32];
    const int64_t channel = blockIdx.x;
    const float around = x[channel * inner];
    float sum = 0.0f, squares = 0.0f, count = 0.0f;
    const auto add = [&](float v) {
        const float d = v - around;
        sum += d;
        squares = fmaf(d, d, squares);
    };
    const int64_t step = (int64_t)gridDim.z * blockDim.x, thread = (int64_t)blockIdx.z * blockDim.x + threadIdx.x;
    const float4 blank = make_float4(around, around, around, around);  // adds zeros
    for (int64_t b = blockIdx.y; b < batch; b += gridDim.y) {
        // Up to three values before the first 16-byte boundary and after the last one: one for each of a few threads.
        const float* __restrict__ from = x + (b * channels + channel) * inner;
        const int64_t head = min(inner, (int64_t)(-((uintptr_t)from / 4) & 3)), vectors = (inner - head) / 4;
        const float4* __restrict__ wide = (const float4*)(from + head);
        if (thread < vectors) count += 4.0f * ((vectors - thread + step - 1) / step);
        for (int64_t i = thread; i < vectors; i += 4 * step) {
            float4 v[4];  // on their way before the first is used
            #pragma unroll
            for (int k = 0; k < 4; ++k) v[k] = i + k * step < vectors ? wide[i + k * step] : blank;
            #pragma unroll
            for (int k = 0; k < 4; ++k) {
                add(v[k].x);
                add(v[k].y);
                add(v[k].z);
                add(v[k].w);
            }
        }
        if (thread < inner - 4 * vectors) {
            add(from[thread < head ? thread : 4 * vectors + thread]);
            count += 1.0f;
        }
    }
    Moments s = {count, 0.0f, 0.0f};
    if (count > 0.0f) {
        s.mean = around + sum / count;
        s.m2 = fmaxf(squares - sum * (sum / count), 0.0f);
    }
    const int lane = threadIdx.x & 31;
    const int warp = threadIdx.x >> 5;
    s = warp_merge(s);
    if (lane == 0) warps[warp] = s;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < (int)(blockDim.x >> 5); ++w) s = merge(s, warps[w]);
        partial[(channel * gridDim.z + blockIdx.z) * gridDim.y + blockIdx.y] = s;
    }
}

// One warp a channel joins the parts, moves the running statistics on, and makes scale and shift.
__global__ void __launch_bounds__(32) finish_kernel(
        const Moments* __restrict__ partial, int parts, const float* __restrict__ weight, const float* __restrict__ bias,
        float* __restrict__ running_mean, float* __restrict__ running_variance, float* __restrict__ scale,
        float* __restrict__ shift, float eps, float momentum) {
    const int64_t c = blockIdx.x;
    Moments s = {0.0f, 0.0f, 0.0f};
    for (int part = threadIdx.x; part < parts; part += 32) s = merge(s, partial[c * parts + part]);
    s = warp_merge(s);
    if (threadIdx.x > 0) return;
    const float factor = (weight ? weight[c] : 1.0f) * rsqrtf(s.m2 / s.count + eps);
    scale[c] = factor;
    shift[c] = (bias ? bias[c] : 0.0f) - s.mean * factor;
    if (running_mean) {
        running_mean[c] += momentum * (s.mean - running_mean[c]);
        running_variance[c] += momentum * (s.m2 / fmaxf(s.count - 1.0f, 1.0f) - running_variance[c]);
    }
}

torch::Tensor batch_norm_inference_forward(torch::Tensor x, std::optional<torch::Tensor> weight, std::optional<torch::Tensor> bias,
                             torch::Tensor mean, torch::Tensor variance, bool training, double momentum, double eps) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat32, "batch_norm_inference_forward takes a float32 CUDA tensor");
    x = x.contiguous();
    auto y = torch::empty_like(x);
    if (x.numel() == 0) return y;
    const int64_t batch = x.size(0), channels = x.size(1), inner = x.numel() / (batch * channels);
    auto scale = torch::empty({channels}, x.options());
    auto shift = torch::empty({channels}, x.options());
    const float* w = weight.has_value() ? weight->data_ptr<float>() : nullptr;
    const float* b = bias.has_value() ? bias->data_ptr<float>() : nullptr;
    const auto stream = at::cuda::getCurrentCUDAStream();
    const unsigned channel_blocks = (unsigned)((channels + 127) / 128);
    if (training) {
        const int along = (int)(batch < 64 ? batch : 64);
        const int64_t wanted = inner / 16384 < 64 / along ? inner / 16384 : 64 / along;
        const int across = (int)(wanted < 1 ? 1 : wanted);
        const int parts = along * across;
        auto partial = torch::empty({channels * parts * 3}, x.options());
        moments_kernel<<<dim3((unsigned)channels, (unsigned)along, (unsigned)across), 256, 0, stream>>>(
            x.data_ptr<float>(), (Moments*)partial.data_ptr<float>(), batch, channels, inner);
        finish_kernel<<<(unsigned)channels, 32, 0, stream>>>(
            (const Moments*)partial.data_ptr<float>(), parts, w, b, mean.data_ptr<float>(), variance.data_ptr<float>(),
            scale.data_ptr<float>(), shift.data_ptr<float>(), (float)eps, (float)momentum);
    } else {
        fold_kernel<<<channel_blocks, 128, 0, stream>>>(
            mean.data_ptr<float>(), variance.data_ptr<float>(), w, b, scale.data_ptr<float>(), shift.data_ptr<float>(), channels, (float)eps);
    }
    const int64_t pieces = (inner + kPiece - 1) / kPiece;
    const bool alike = ((uintptr_t)x.data_ptr<float>() - (uintptr_t)y.data_ptr<float>()) % 16 == 0;  // plane by plane
    affine_kernel<<<(unsigned)(batch * channels * pieces), 256, 0, stream>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), scale.data_ptr<float>(), shift.data_ptr<float>(), inner, channels, pieces, alike);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}
"""

CPP = "torch::Tensor batch_norm_inference_forward(torch::Tensor x, std::optional<torch::Tensor> weight, std::optional<torch::Tensor> bias, torch::Tensor mean, torch::Tensor variance, bool training, double momentum, double eps);"

batch_norm_inference_extension = load_inline(
    name="batch_norm_inference_extension",
    cpp_sources=CPP,
    cuda_sources=CUDA,
    functions=["batch_norm_inference_forward"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self, num_features: int):
        super().__init__()
        self.bn = nn.BatchNorm2d(num_features=num_features)
        self.bn.eval()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        bn = self.bn
        return batch_norm_inference_extension.batch_norm_inference_forward(
            x, bn.weight, bn.bias, bn.running_mean, bn.running_var, bn.training, bn.momentum, bn.eps
        )
