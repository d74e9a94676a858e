"""Average pooling 2d: reference-fixed kernel.

Windows of neighbours overlap, so a tile of the input is read once into shared memory and the windows are
taken from there, four neighbouring results a thread. The sizes of the usual windows are known to the
compiler, which unrolls them; other windows have one thread for each result.
"""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <cuda_pipeline.h>
#include <cmath>

struct Window {
    int size[3], kernel[3], stride[3], padding[3], dilation[3], out[3];
    int64_t planes;
};

__device__ __forceinline__ float join(float a, float b) { return a + b; }
constexpr float kStart = 0.0f;

// Cells of a window along one axis. Zeros of the padding count, as with torch's count_include_pad; cells beyond don't.
__device__ __forceinline__ int cells(const Window& w, int axis, int at) {
    const int start = at * w.stride[axis] - w.padding[axis];
    return min(start + w.kernel[axis], w.size[axis] + w.padding[axis]) - start;
}

// Windows that overlap, of a size known to the compiler: kSize cells along each of the kRank pooled axes, kStride apart
// from the next window, kDilation from cell to cell, with kPadding columns before the first. A block makes a tile of
// 4 * kLanes columns and kHigh rows. The input's tile goes to shared memory in vectors of 16 bytes, its padding filled
// in, so that the windows need no bounds checks; a thread makes four neighbouring results of a row at a time from one
// stretch in registers.
template <int kRank, int kSize, int kStride, int kDilation, int kPadding, int kLanes>
struct Tile {
    static constexpr int kRows = kRank == 3 ? 1 : kStride == 1 ? 4 : 2;  // of results that a thread makes
    static constexpr int kWide = 4 * kLanes, kHigh = 256 / kLanes * kRows;
    static constexpr int kDepth = kRank == 3 ? kSize : 1, kHeight = kRank >= 2 ? kSize : 1;
    static constexpr int kStrideH = kRank >= 2 ? kStride : 1, kDilationH = kRank >= 2 ? kDilation : 1;
    static constexpr int kSkew = (4 - kPadding % 4) % 4;  // the tile begins at a multiple of four columns
    static constexpr int kLoads = (kSkew + 3 * kStride + (kSize - 1) * kDilation + 4) / 4;  // vectors for four results
    static constexpr int kVectors = (kLanes - 1) * kStride + kLoads;  // of a row of the tile
    static constexpr int kTileRows = (kHigh - 1) * kStrideH + (kHeight - 1) * kDilationH + 1;
    static constexpr int kBytes = 16 * (kTileRows * kVectors + 256);
};

template <int kRank, int kSize, int kStride, int kDilation, int kPadding, int kLanes>
__global__ void __launch_bounds__(256, 4) tile_kernel(const float* __restrict__ x, float* __restrict__ y, Window w, bool wide) {
    using T = Tile<kRank, kSize, kStride, kDilation, kPadding, kLanes>;
    __shared__ float4 tile[T::kTileRows][T::kVectors];
    __shared__ float4 staged[8][32];  // each warp's results on their way out
    const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
    const int tx = tid % kLanes, ty = tid / kLanes;
    const int tiles_w = (w.out[2] + T::kWide - 1) / T::kWide, tiles_h = (w.out[1] + T::kHigh - 1) / T::kHigh;
    const int ow0 = (int)(blockIdx.x % tiles_w) * T::kWide;
    const int oh0 = (int)(blockIdx.x / tiles_w % tiles_h) * T::kHigh;
    const int64_t slice = blockIdx.x / tiles_w / tiles_h;  // of the output: plane * depth + od
    const int od = (int)(slice % w.out[0]);
    const float* __restrict__ from = x + slice / w.out[0] * w.size[0] * w.size[1] * w.size[2];
    const int left = ow0 * kStride - kPadding - T::kSkew, up = oh0 * T::kStrideH - w.padding[1];

    float result[T::kRows][4];
    #pragma unroll
    for (int r = 0; r < T::kRows; ++r)
        #pragma unroll
        for (int o = 0; o < 4; ++o) result[r][o] = kStart;
    #pragma unroll 1
    for (int a = 0; a < T::kDepth; ++a) {
        const int d = od * w.stride[0] - w.padding[0] + a * w.dilation[0];
        const bool within = d >= 0 && d < w.size[0];
        __syncthreads();  // the last slice has been used
        #pragma unroll 4
        for (int i = tid; i < T::kTileRows * T::kVectors; i += 256) {
            const int r = i / T::kVectors, c = i % T::kVectors;
            const int h = up + r, column = left + 4 * c;
            const bool row = within && h >= 0 && h < w.size[1];
            const float* __restrict__ line = from + ((int64_t)d * w.size[1] + h) * w.size[2];
            if (wide && row && column >= 0 && column < w.size[2]) {
                __pipeline_memcpy_async(&tile[r][c], line + column, sizeof(float4));
            } else {
                float v[4];
                #pragma unroll
                for (int e = 0; e < 4; ++e)
                    v[e] = !wide && row && column + e >= 0 && column + e < w.size[2] ? line[column + e] : kStart;
                tile[r][c] = make_float4(v[0], v[1], v[2], v[3]);
            }
        }
        __pipeline_commit();
        __pipeline_wait_prior(0);
        __syncthreads();
        #pragma unroll
        for (int r = 0; r < T::kRows; ++r)
            #pragma unroll
            for (int b = 0; b < T::kHeight; ++b) {
                const float4* span = &tile[(ty + r * (256 / kLanes)) * T::kStrideH + b * T::kDilationH][tx * kStride];
                float v[4 * T::kLoads];
                #pragma unroll
                for (int k = 0; k < T::kLoads; ++k) {
                    const float4 four = span[k];
                    v[4 * k] = four.x, v[4 * k + 1] = four.y, v[4 * k + 2] = four.z, v[4 * k + 3] = four.w;
                }
                #pragma unroll
                for (int o = 0; o < 4; ++o)
                    #pragma unroll
                    for (int c = 0; c < kSize; ++c) result[r][o] = join(result[r][o], v[T::kSkew + o * kStride + c * kDilation]);
            }
    }
    const float* mine = (const float*)staged[warp];
    #pragma unroll
    for (int r = 0; r < T::kRows; ++r) {
        __syncwarp();  // the last row has been stored
        staged[warp][lane] = make_float4(result[r][0], result[r][1], result[r][2], result[r][3]);
        __syncwarp();
        #pragma unroll
        for (int o = 0; o < 4; ++o) {
            const int at = lane + 32 * o;  // of the warp's 128 results: neighbours store neighbours
            const int oh = oh0 + r * (256 / kLanes) + warp * (32 / kLanes) + at / T::kWide, ow = ow0 + at % T::kWide;
            if (oh >= w.out[1] || ow >= w.out[2]) continue;
            const int many = (kRank == 3 ? cells(w, 0, od) : 1) * (kRank >= 2 ? cells(w, 1, oh) : 1) * cells(w, 2, ow);
            y[(slice * w.out[1] + oh) * w.out[2] + ow] = mine[at] / many;
        }
    }
}

template <int kRank, int kSize, int kStride, int kDilation, int kPadding, int kLanes>
static bool launch_tiles(const float* x, float* y, Window w) {
    using T = Tile<kRank, kSize, kStride, kDilation, kPadding, kLanes>;
    if constexpr (T::kBytes > 48 * 1024) {
        return false;
    } else {
        if (kRank == 1) {  // planes are the rows of the tile
            w.size[1] = w.out[1] = (int)w.planes;
            w.planes = 1;
        }
        const int64_t tiles = (int64_t)((w.out[1] + T::kHigh - 1) / T::kHigh) * ((w.out[2] + T::kWide - 1) / T::kWide);
        const int64_t blocks = w.planes * w.out[0] * tiles;
        if (blocks >= (int64_t)1 << 31) return false;
        const bool wide = w.size[2] % 4 == 0 && (uintptr_t)x % 16 == 0;
        tile_kernel<kRank, kSize, kStride, kDilation, kPadding, kLanes>
            <<<(unsigned)blocks, 256, 0, at::cuda::getCurrentCUDAStream()>>>(x, y, w, wide);
        return true;
    }
}

// False where the windows are not of this kind.
template <int kRank, int kSize, int kStride, int kDilation, int kPadding>
static bool launch_windows(const float* x, float* y, const Window& w) {
    if (w.padding[2] != kPadding) return false;
    for (int axis = 3 - kRank; axis < 3; ++axis)
        if (w.kernel[axis] != kSize || w.stride[axis] != kStride || w.dilation[axis] != kDilation) return false;
    if (w.out[2] <= 32) return launch_tiles<kRank, kSize, kStride, kDilation, kPadding, 8>(x, y, w);
    if (w.out[2] <= 64) return launch_tiles<kRank, kSize, kStride, kDilation, kPadding, 16>(x, y, w);
    return launch_tiles<kRank, kSize, kStride, kDilation, kPadding, 32>(x, y, w);
}

// Of a window's cells along an axis, the first that lies inside of the input, and the one after the last that does.
__device__ __forceinline__ int first_inside(int start, int dilation) { return start >= 0 ? 0 : (dilation - 1 - start) / dilation; }
__device__ __forceinline__ int end_inside(int start, int dilation, int kernel, int size) {
    return min(kernel, max(0, (size - start + dilation - 1) / dilation));
}

// Windows of any size: one thread for each result. Neighbouring threads take neighbouring columns.
__global__ void pool_kernel(const float* __restrict__ x, float* __restrict__ y, Window w, int64_t total) {
    const int64_t stride = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < total; i += stride) {
        const int ow = i % w.out[2];
        const int oh = i / w.out[2] % w.out[1];
        const int od = i / ((int64_t)w.out[2] * w.out[1]) % w.out[0];
        const int64_t plane = i / ((int64_t)w.out[2] * w.out[1] * w.out[0]);
        const float* __restrict__ from = x + plane * w.size[0] * w.size[1] * w.size[2];
        const int d0 = od * w.stride[0] - w.padding[0];
        const int h0 = oh * w.stride[1] - w.padding[1];
        const int w0 = ow * w.stride[2] - w.padding[2];
        // The cells that lie inside of the input, so that the loops need no checks.
        const int a0 = first_inside(d0, w.dilation[0]), a1 = end_inside(d0, w.dilation[0], w.kernel[0], w.size[0]);
        const int b0 = first_inside(h0, w.dilation[1]), b1 = end_inside(h0, w.dilation[1], w.kernel[1], w.size[1]);
        const int c0 = first_inside(w0, w.dilation[2]), c1 = end_inside(w0, w.dilation[2], w.kernel[2], w.size[2]);
        float result = kStart;
        for (int a = a0; a < a1; ++a)
            for (int b = b0; b < b1; ++b) {
                const float* __restrict__ line = from + ((int64_t)(d0 + a * w.dilation[0]) * w.size[1] + h0 + b * w.dilation[1]) * w.size[2] + w0;
                #pragma unroll 4
                for (int c = c0; c < c1; ++c) result = join(result, line[c * w.dilation[2]]);
            }
        y[i] = result / (cells(w, 0, od) * cells(w, 1, oh) * cells(w, 2, ow));
    }
}

static torch::Tensor checked(torch::Tensor y) {
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}

// x is [..., spatial]; the last `rank` dims are pooled. Parameters come as lists of `rank` numbers.
torch::Tensor avg_pool2d_cuda(torch::Tensor x, std::vector<int64_t> kernel, std::vector<int64_t> stride,
                             std::vector<int64_t> padding, std::vector<int64_t> dilation, bool ceil_mode) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat32, "avg_pool2d_cuda takes a float32 CUDA tensor");
    x = x.contiguous();
    const int rank = (int)kernel.size();
    Window w;
    std::vector<int64_t> shape = x.sizes().vec();
    for (int axis = 0; axis < 3; ++axis) {
        const int at = axis - (3 - rank);
        const bool used = at >= 0;
        w.size[axis] = used ? (int)x.size(x.dim() - rank + at) : 1;
        w.kernel[axis] = used ? (int)kernel[at] : 1;
        w.stride[axis] = used ? (int)stride[at] : 1;
        w.padding[axis] = used ? (int)padding[at] : 0;
        w.dilation[axis] = used ? (int)dilation[at] : 1;
        const int span = w.size[axis] + 2 * w.padding[axis] - w.dilation[axis] * (w.kernel[axis] - 1) - 1;
        w.out[axis] = (span + (ceil_mode ? w.stride[axis] - 1 : 0)) / w.stride[axis] + 1;
        if (ceil_mode && (w.out[axis] - 1) * w.stride[axis] >= w.size[axis] + w.padding[axis]) --w.out[axis];
        if (used) shape[x.dim() - rank + at] = w.out[axis];
    }
    auto y = torch::empty(shape, x.options());
    const int64_t total = y.numel();
    if (total == 0) return y;
    w.planes = total / ((int64_t)w.out[0] * w.out[1] * w.out[2]);
    const float* from = x.data_ptr<float>();
    float* to = y.data_ptr<float>();
    if (rank == 2 && launch_windows<2, 3, 2, 1, 1>(from, to, w)) return checked(y);
    const int64_t blocks = (total + 255) / 256;
    pool_kernel<<<(unsigned)(blocks < (1 << 22) ? blocks : (1 << 22)), 256, 0, at::cuda::getCurrentCUDAStream()>>>(
        from, to, w, total);
    return checked(y);
}
"""

CPP = "torch::Tensor avg_pool2d_cuda(torch::Tensor x, std::vector<int64_t> kernel, std::vector<int64_t> stride, std::vector<int64_t> padding, std::vector<int64_t> dilation, bool ceil_mode);"

avg_pool = load_inline(
    name="avg_pool",
    cpp_sources=CPP,
    cuda_sources=CUDA,
    functions=["avg_pool2d_cuda"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self, kernel_size: int, stride: int=None, padding: int=0):
        super().__init__()
        self.pool = nn.AvgPool2d(kernel_size=kernel_size, stride=stride, padding=padding)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pool = self.pool

        def sizes(value):
            return list(value) if isinstance(value, (tuple, list)) else [value] * 2

        return avg_pool.avg_pool2d_cuda(
            x, sizes(pool.kernel_size), sizes(pool.stride), sizes(pool.padding),
            sizes(getattr(pool, "dilation", 1)), pool.ceil_mode,
        )
