"""Average pooling 2d: reference-fixed kernel.

Windows of neighbours overlap. Threads that are neighbours ask for the same lines at the same time, so that
the L1 cache serves what they share; a thread makes several results of a line, and walks along another axis
to join each line once for all windows that see it. The sizes of the usual windows are known to the
compiler, which unrolls them; other windows have one thread for each result.
"""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <algorithm>
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

constexpr int kWalk = 128;  // steps of results that a thread makes, at most

// Windows that overlap, of a size known to the compiler: kSize cells along each of the kRank pooled axes, kStride apart
// from the next window, kDilation from cell to cell, with kPadding columns before the first.
template <int kRank, int kSize, int kStride, int kDilation, int kPadding, bool kAligned>
struct Shape {
    static constexpr int kEach = kStride == 1 ? 8 : 4;           // neighbouring results that a thread makes of a row
    static constexpr int kReach = (kSize - 1) * kDilation + 1;  // of a window along an axis
    static constexpr int kSkew = (4 - kPadding % 4) % 4;        // where rows begin at multiples of 16 bytes: values before the first
    static constexpr int kLoads = ((kAligned ? kSkew : 3) + (kEach - 1) * kStride + kReach + 3) / 4;  // vectors of four values
    static constexpr int kAxis = kRank == 3 ? 0 : 1;            // along which a thread walks
    static constexpr int kStep = kRank >= 2 ? kStride : 1, kCells = kRank >= 2 ? kSize : 1;  // along the walk
    static constexpr int kOpen = kRank >= 2 ? (kReach - 1) / kStride + 1 : 1;  // windows that a step may belong to
    static constexpr int kLines = kRank == 3 ? kSize : 1;       // lines of the input that a step of the walk reads
    static constexpr int kThreads = 256;

    // Step `u` of a round is some window's `cell`, and that window is so many rounds old.
    static __device__ constexpr bool meets(int u, int cell) { return cell * kDilation >= u && (cell * kDilation - u) % kStep == 0; }
    static __device__ constexpr int age(int u, int cell) { return (cell * kDilation - u) / kStep; }
    static __device__ constexpr bool used(int u) {
        for (int cell = 0; cell < kCells; ++cell)
            if (meets(u, cell)) return true;
        return false;
    }
};

// Four values from column c of a line, if it is inside of the input; those outside change nothing. Where kAligned, either
// all four are or none.
template <bool kAligned>
__device__ __forceinline__ float4 four_of(const float* __restrict__ from, bool inside, int c, int size) {
    const float4 blank = make_float4(kStart, kStart, kStart, kStart);
    if (kAligned) return inside && (unsigned)c < (unsigned)size ? *(const float4*)from : blank;
    if (!inside) return blank;
    if (c >= 0 && c + 4 <= size) return *(const float4*)from;
    float v[4];
    #pragma unroll
    for (int e = 0; e < 4; ++e) v[e] = c + e >= 0 && c + e < size ? from[e] : kStart;
    return make_float4(v[0], v[1], v[2], v[3]);
}

// Every input is asked for where it is needed, in vectors of 16 bytes; what windows share comes from the L1 cache, since
// threads that are neighbours ask for the same lines at the same time. Along the first pooled axis of two or three a
// thread walks: what its windows see of one step is joined once, and kept for all results that see the step. A warp
// makes the results of kLanes * kEach columns of 32 / kLanes rows.
template <int kRank, int kSize, int kStride, int kDilation, int kPadding, bool kAligned, int kLanes>
__global__ void __launch_bounds__(256, kRank == 3 && !kAligned ? 3 : 4) walk_kernel(
        const float* __restrict__ x, float* __restrict__ y, Window w, int walk, unsigned rows) {
    using S = Shape<kRank, kSize, kStride, kDilation, kPadding, kAligned>;
    constexpr int kEach = S::kEach, kAxis = S::kAxis;
    __shared__ float4 staged[S::kThreads * kEach / 4];  // results on their way out
    const int tx = threadIdx.x % kLanes;
    const float* mine = (const float*)staged + (threadIdx.x - tx) * kEach;  // of its row
    // The row's place: strip of columns, row of the plane, stretch of the walk, plane.
    const unsigned own = (blockIdx.x * S::kThreads + threadIdx.x) / kLanes;
    const bool live = own < rows;
    unsigned rest = live ? own : rows - 1;
    const auto next = [&](int count) {  // the index along an axis of so many
        const unsigned index = rest % count;
        rest /= count;
        return (int)index;
    };
    const int ow0 = next((w.out[2] + kLanes * kEach - 1) / (kLanes * kEach)) * kLanes * kEach;
    const int oh = kRank == 3 ? next(w.out[1]) : 0;
    const int begin = kRank >= 2 ? next((w.out[kAxis] + walk - 1) / walk) * walk : 0;
    const int64_t plane = rest;
    const int ow = ow0 + tx * kEach, left = ow * kStride - kPadding;
    // Of the walk: the first step, where its first line is in the plane (it may lie outside), and how far it is to the next.
    const int first = begin * S::kStep - w.padding[kAxis], above = kRank == 3 ? oh * kStride - w.padding[1] : 0;
    const int line = w.size[2], far = kRank == 3 ? line * w.size[1] : line;
    const float* __restrict__ from = x + plane * w.size[0] * w.size[1] * line;
    int front = first * far + above * line + left;
    // And of the results.
    const int beyond = kRank == 3 ? w.out[1] * w.out[2] : w.out[2];
    float* __restrict__ to = y + plane * w.out[0] * w.out[1] * w.out[2];
    int home = (kRank == 3 ? oh * w.out[2] : 0) + ow0 + (begin - S::kOpen) * beyond;
    const int columns = live ? min(kLanes * kEach, w.out[2] - ow0) : 0;
    const bool whole = cells(w, 2, ow + kEach - 1) == kSize;  // all windows of the thread
    // What the windows of all kEach results see of one step of the walk.
    const auto look = [&](int step, float (&seen)[kEach]) {
        float4 v[S::kLines][S::kLoads];  // all on their way before the first is used
        int skew[S::kLines];
        #pragma unroll
        for (int b = 0; b < S::kLines; ++b) {
            const int h = above + b * kDilation;
            const bool inside = first + step >= 0 && first + step < w.size[kAxis] && (kRank < 3 || (h >= 0 && h < w.size[1]));
            const int here = front + b * kDilation * line;
            skew[b] = kAligned ? S::kSkew : (int)((uintptr_t)(from + here) / 4 & 3);
            #pragma unroll
            for (int k = 0; k < S::kLoads; ++k)
                v[b][k] = four_of<kAligned>(from + (here - skew[b]) + 4 * k, inside, left - skew[b] + 4 * k, w.size[2]);
        }
        #pragma unroll
        for (int b = 0; b < S::kLines; ++b) {
            float u[4 * S::kLoads + 2];
            #pragma unroll
            for (int k = 0; k < S::kLoads; ++k) u[4 * k] = v[b][k].x, u[4 * k + 1] = v[b][k].y, u[4 * k + 2] = v[b][k].z, u[4 * k + 3] = v[b][k].w;
            u[4 * S::kLoads] = u[4 * S::kLoads + 1] = kStart;
            if (!kAligned) {  // to the front
                #pragma unroll
                for (int i = 0; i < 4 * S::kLoads; ++i) u[i] = skew[b] & 1 ? u[i + 1] : u[i];
                #pragma unroll
                for (int i = 0; i < 4 * S::kLoads; ++i) u[i] = skew[b] & 2 ? u[i + 2] : u[i];
            }
            #pragma unroll
            for (int o = 0; o < kEach; ++o)
                #pragma unroll
                for (int c = 0; c < kSize; ++c) {
                    const float cell = u[(kAligned ? S::kSkew : 0) + o * kStride + c * kDilation];
                    seen[o] = b + c == 0 ? cell : join(seen[o], cell);
                }
        }
    };

    // Of the windows that a step belongs to, the youngest first: a round of kStep steps begins one and ends one.
    float joined[S::kOpen][kEach];
    #pragma unroll 1
    for (int round = 0; round < walk + S::kOpen - 1; ++round) {
        home += beyond;
        #pragma unroll
        for (int u = 0; u < S::kStep; ++u) {
            float seen[kEach];
            if (S::used(u)) look(round * S::kStep + u, seen);
            front += far;
            #pragma unroll
            for (int cell = 0; cell < S::kCells; ++cell)
                if (S::meets(u, cell)) {
                    #pragma unroll
                    for (int o = 0; o < kEach; ++o) {
                        float& own = joined[S::age(u, cell)][o];
                        own = cell == 0 ? seen[o] : join(own, seen[o]);
                    }
                }
        }
        float result[kEach];
        #pragma unroll
        for (int o = 0; o < kEach; ++o) {
            result[o] = joined[S::kOpen - 1][o];
            #pragma unroll
            for (int a = S::kOpen - 1; a > 0; --a) joined[a][o] = joined[a - 1][o];
        }
        if (round < S::kOpen - 1) continue;
        const int at = begin + round - (S::kOpen - 1);
        const int od = kRank == 3 ? at : 0, row_h = kRank == 3 ? oh : at;
        const int many = (kRank == 3 ? cells(w, 0, od) : 1) * (kRank >= 2 ? cells(w, 1, row_h) : 1);
        if (whole) {
            const float share = 1.0f / (many * kSize);
            #pragma unroll
            for (int o = 0; o < kEach; ++o) result[o] *= share;
        } else {
            #pragma unroll
            for (int o = 0; o < kEach; ++o) result[o] = __fdividef(result[o], many * cells(w, 2, ow + o));
        }
        #pragma unroll
        for (int o = 0; o < kEach; o += 4)
            staged[(threadIdx.x * kEach + o) / 4] = make_float4(result[o], result[o + 1], result[o + 2], result[o + 3]);
        __syncwarp();
        // Neighbours store neighbours: each its own, kLanes apart, from a boundary of 4 * kLanes bytes on.
        const unsigned wide = at < w.out[kAxis] ? columns : 0;
        const uintptr_t address = (uintptr_t)(to + home), boundary = address & -(uintptr_t)(4 * kLanes);
        const int begun = tx - (int)(address - boundary) / 4;
        float* __restrict__ row = (float*)boundary + tx;
        #pragma unroll
        for (int o = 0; o <= kEach; ++o)
            if ((unsigned)(begun + o * kLanes) < wide) __stcs(row + o * kLanes, mine[begun + o * kLanes]);
        __syncwarp();
    }
}

template <int kRank, int kSize, int kStride, int kDilation, int kPadding, bool kAligned, int kLanes>
static bool launch_walk(const float* x, float* y, const Window& w) {
    using S = Shape<kRank, kSize, kStride, kDilation, kPadding, kAligned>;
    const int stretches = (w.out[S::kAxis] + kWalk - 1) / kWalk, walk = (w.out[S::kAxis] + stretches - 1) / stretches;
    const int64_t strips = (w.out[2] + kLanes * S::kEach - 1) / (kLanes * S::kEach);
    const int64_t rows = strips * (kRank == 3 ? w.out[1] : 1) * ((w.out[S::kAxis] + walk - 1) / walk) * w.planes;
    const int64_t blocks = (rows * kLanes + S::kThreads - 1) / S::kThreads;
    int64_t seen = 1, made = 1;  // of a plane, with what lies outside of it
    for (int axis = 0; axis < 3; ++axis) {
        seen *= w.size[axis] + w.padding[axis] + w.kernel[axis] * w.dilation[axis];
        made *= w.out[axis];
    }
    if (std::max({rows * kLanes, seen, made}) >= (int64_t)1 << 30) return false;
    walk_kernel<kRank, kSize, kStride, kDilation, kPadding, kAligned, kLanes>
        <<<(unsigned)blocks, S::kThreads, 0, at::cuda::getCurrentCUDAStream()>>>(x, y, w, walk, (unsigned)rows);
    return true;
}

// A warp takes a piece of one row, or of four rows where that leaves fewer of its threads without a result.
template <int kRank, int kSize, int kStride, int kDilation, int kPadding, bool kAligned>
static bool launch_walks(const float* x, float* y, const Window& w) {
    constexpr int kStrip = 8 * Shape<kRank, kSize, kStride, kDilation, kPadding, kAligned>::kEach;
    const int narrow = (w.out[2] + kStrip - 1) / kStrip, wide = 4 * ((w.out[2] + 4 * kStrip - 1) / (4 * kStrip));
    return narrow < wide ? launch_walk<kRank, kSize, kStride, kDilation, kPadding, kAligned, 8>(x, y, w)
                         : launch_walk<kRank, kSize, kStride, kDilation, kPadding, kAligned, 32>(x, y, w);
}

// False where the windows are not of this kind.
template <int kRank, int kSize, int kStride, int kDilation, int kPadding>
static bool launch_windows(const float* x, float* y, const Window& w) {
    if (w.padding[2] != kPadding || (uintptr_t)x % 16 != 0) return false;
    for (int axis = 3 - kRank; axis < 3; ++axis)
        if (w.kernel[axis] != kSize || w.stride[axis] != kStride || w.dilation[axis] != kDilation) return false;
    return w.size[2] % 4 == 0 ? launch_walks<kRank, kSize, kStride, kDilation, kPadding, true>(x, y, w)
                              : launch_walks<kRank, kSize, kStride, kDilation, kPadding, false>(x, y, w);
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
torch::Tensor avg_pool_2d_forward(torch::Tensor x, std::vector<int64_t> kernel, std::vector<int64_t> stride,
                             std::vector<int64_t> padding, std::vector<int64_t> dilation, bool ceil_mode) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat32, "avg_pool_2d_forward takes a float32 CUDA tensor");
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

CPP = "torch::Tensor avg_pool_2d_forward(torch::Tensor x, std::vector<int64_t> kernel, std::vector<int64_t> stride, std::vector<int64_t> padding, std::vector<int64_t> dilation, bool ceil_mode);"

avg_pool_2d_extension = load_inline(
    name="avg_pool_2d_extension",
    cpp_sources=CPP,
    cuda_sources=CUDA,
    functions=["avg_pool_2d_forward"],
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

        return avg_pool_2d_extension.avg_pool_2d_forward(
            x, sizes(pool.kernel_size), sizes(pool.stride), sizes(pool.padding),
            sizes(getattr(pool, "dilation", 1)), pool.ceil_mode,
        )
