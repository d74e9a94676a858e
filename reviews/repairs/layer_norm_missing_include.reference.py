"""Layer norm over the last dims: reference-fixed kernel.

Mean and variance come from one pass, as moments that can be merged without cancellation; the values stay
in registers and shared memory for the second step, so that memory is read once and written once. A group
that is too large for one multiprocessor is shared by several.
"""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <cuda_pipeline.h>
#include <algorithm>
#include <cmath>

// Count, mean and sum of squared differences: merging two of these loses nothing to cancellation, unlike
// sum(x * x) - mean * mean (Chan, Golub and LeVeque, 1979).
// What is known of the values seen so far.
struct Stat {
    float count;
    float mean;
    float m2;
};

__device__ __forceinline__ Stat empty_stat() {
    Stat s;
    s.count = 0.0f;
    s.mean = 0.0f;
    s.m2 = 0.0f;
    return s;
}

__device__ __forceinline__ Stat merge(Stat a, Stat b) {
    const float count = a.count + b.count;
    if (count > 0.0f) {
        const float delta = b.mean - a.mean, share = b.count / count;
        a.mean += delta * share;
        a.m2 += b.m2 + delta * delta * a.count * share;
        a.count = count;
    }
    return a;
}

// All lanes of a warp get the warp's result: with xor every lane takes part in every step.
__device__ __forceinline__ Stat warp_merge(Stat s) {
    float count = s.count, sum = s.count * s.mean;
    for (int offset = 16; offset > 0; offset >>= 1) {
        count += __shfl_xor_sync(0xffffffffu, count, offset);
        sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    }
    const float mean = count > 0.0f ? sum / count : 0.0f;
    s.m2 += s.count * (s.mean - mean) * (s.mean - mean);
    for (int offset = 16; offset > 0; offset >>= 1) s.m2 += __shfl_xor_sync(0xffffffffu, s.m2, offset);
    s.count = count;
    s.mean = mean;
    return s;
}

// All threads of the block get the block's result. blockDim.x is a multiple of 32, at most 1024. Calls with `turn` 0
// and 1 in turns need no barrier between them: each writes what was read before the last barrier.
__device__ __forceinline__ Stat block_merge(Stat s, int turn) {
    __shared__ Stat partial[2][32];
    const int lane = threadIdx.x & 31;
    const int warp = threadIdx.x >> 5;
    s = warp_merge(s);
    if (blockDim.x == 32) return s;
    if (lane == 0) partial[turn][warp] = s;
    __syncthreads();
    return warp_merge(lane < (int)(blockDim.x >> 5) ? partial[turn][lane] : empty_stat());
}

// A row whose parts are with several blocks: each leaves its result in `partial`, waits until all have, and merges all
// in the same order. The launch is cooperative: all blocks are on the GPU at once, so that nobody waits for a block
// that can't begin.
__device__ __forceinline__ Stat row_merge(Stat s, Stat* partial, int* arrived, int part, int parts) {
    if (threadIdx.x == 0) {
        partial[part] = s;
        __threadfence();  // the result before the count
        atomicAdd(arrived, 1);
        while (*(volatile int*)arrived < parts) {}
        __threadfence();  // the count before the others' results
    }
    __syncthreads();
    Stat all = empty_stat();
    for (int other = threadIdx.x & 31; other < parts; other += 32) {
        Stat one;
        one.count = __ldcg(&partial[other].count);
        one.mean = __ldcg(&partial[other].mean);
        one.m2 = __ldcg(&partial[other].m2);
        all = merge(all, one);
    }
    return warp_merge(all);
}

// A thread's own few values, as sums around the group's first value.
struct Sums {
    float around, sum, squares;
    __device__ __forceinline__ void add(float v) {
        const float d = v - around;
        sum += d;
        squares = fmaf(d, d, squares);
    }
    __device__ __forceinline__ void add(float4 v) {
        add(v.x);
        add(v.y);
        add(v.z);
        add(v.w);
    }
    __device__ __forceinline__ Stat stat(float count) const {
        Stat s = empty_stat();
        if (count == 0.0f) return s;
        const float mean = sum / count;
        s.count = count;
        s.mean = around + mean;
        s.m2 = fmaxf(squares - sum * mean, 0.0f);
        return s;
    }
};

// What normalises a group: (v - mean) * scale, then the weight and the bias of the value's parameter. Value i of group
// g belongs to parameter (g * n + i) / inner % channels.
struct Affine {
    float mean, scale;
    const float* __restrict__ weight;
    const float* __restrict__ bias;
    unsigned first, inner;

    __device__ __forceinline__ float one(float v, float w, float b) const { return (v - mean) * (scale * w) + b; }
    __device__ __forceinline__ float value(float v, unsigned i) const {
        const unsigned channel = first + (inner == 1 ? i : i / inner);
        return one(v, weight ? weight[channel] : 1.0f, bias ? bias[channel] : 0.0f);
    }
    __device__ __forceinline__ float4 value(float4 v, unsigned i) const {
        if (!weight && !bias) return make_float4(one(v.x, 1.0f, 0.0f), one(v.y, 1.0f, 0.0f), one(v.z, 1.0f, 0.0f), one(v.w, 1.0f, 0.0f));
        if (inner == 1 && (first + i) % 4 == 0 && weight && bias) {
            const float4 w = *(const float4*)(weight + first + i), b = *(const float4*)(bias + first + i);
            return make_float4(one(v.x, w.x, b.x), one(v.y, w.y, b.y), one(v.z, w.z, b.z), one(v.w, w.w, b.w));
        }
        if (inner % 4 || i % 4) return make_float4(value(v.x, i), value(v.y, i + 1), value(v.z, i + 2), value(v.w, i + 3));
        const unsigned channel = first + i / inner;  // of all four
        const float w = weight ? weight[channel] : 1.0f;
        const float b = bias ? bias[channel] : 0.0f;
        return make_float4(one(v.x, w, b), one(v.y, w, b), one(v.z, w, b), one(v.w, w, b));
    }
};

constexpr int kThreads = 512;  // of a block, at most
constexpr int kBlocks = 2;     // of that size that share a multiprocessor
constexpr int kHeld = 4;       // vectors of four values that a thread keeps in registers

// `count` rows of n values, each in `parts` parts of `stretch` values; the last one may be shorter. `kept` vectors of 16
// bytes of a part stay in shared memory.
struct Rows {
    int64_t count, n, stretch;
    int parts, kept;
};

// A part begins with up to seven values before the first 32-byte boundary, then come vectors, then up to three values.
struct Part {
    int64_t row, begin;  // its row, and its first value in the tensor
    int part, count, head, vectors;
};

__device__ __forceinline__ Part part_of(const float* x, const Rows& rows, int64_t piece) {
    Part p;
    p.row = rows.parts == 1 ? piece : piece / rows.parts;
    p.part = (int)(piece - p.row * rows.parts);
    p.begin = p.row * rows.n + p.part * rows.stretch;
    p.count = (int)min(rows.stretch, rows.n - p.part * rows.stretch);
    p.head = min(p.count, (int)(-((uintptr_t)(x + p.begin) / 4) & 7));
    p.vectors = (p.count - p.head) / 4;
    return p;
}

// Sends a part's vectors `first` to `last` on their way into shared memory: all are in flight at once and take no
// registers. Each thread copies what it will read itself.
__device__ __forceinline__ void fetch(float4* cache, const float* __restrict__ x, const Part& p, int first, int last) {
    const float4* from = (const float4*)(x + p.begin + p.head);
    for (int i = first + (int)threadIdx.x; i < min(p.vectors, last); i += blockDim.x)
        __pipeline_memcpy_async(cache + i - first, from + i, sizeof(float4));
    __pipeline_commit();
}

// Rows are the groups of values that are normalised together; they lie together in memory. A block takes one part of
// a group, and groups beyond what a multiprocessor can hold are shared by several blocks. The part stays on the chip
// between its two uses, kHeld vectors a thread in registers and `kept` vectors a block in shared memory, so that memory
// is read once and written once. Only of a group that is larger than all multiprocessors together a remainder is read
// again.
__global__ void __launch_bounds__(kThreads, kBlocks) normalise_kernel(
        const float* __restrict__ x, float* __restrict__ y, const float* __restrict__ weight, const float* __restrict__ bias,
        Stat* partial, int* arrived, Rows rows, int64_t inner, int64_t channels, float eps) {
    extern __shared__ float4 cache[];
    const int tid = threadIdx.x, step = blockDim.x;
    const int first = kHeld * step;      // the vectors before are in registers,
    const int last = first + rows.kept;  // those from here on are read again
    int turn = 0;
    int64_t piece = blockIdx.x;
    Part p = part_of(x, rows, piece);
    fetch(cache, x, p, first, last);
    while (true) {
        const float4* __restrict__ from = (const float4*)(x + p.begin + p.head);
        float4* __restrict__ to = (float4*)(y + p.begin + p.head);
        const bool ragged = tid < p.count - 4 * p.vectors;
        const int64_t edge = p.begin + (tid < p.head ? tid : 4 * p.vectors + tid);
        Sums sums = {x[p.row * rows.n], 0.0f, 0.0f};
        const float loose = ragged ? x[edge] : sums.around;
        const float4 blank = make_float4(sums.around, sums.around, sums.around, sums.around);  // adds zeros
        float4 held[kHeld];
        #pragma unroll
        for (int k = 0; k < kHeld; ++k) held[k] = tid + k * step < p.vectors ? from[tid + k * step] : blank;

        int j = last + tid;
        for (; j < p.vectors; j += 4 * step) {
            float4 v[4];
            #pragma unroll
            for (int k = 0; k < 4; ++k) v[k] = j + k * step < p.vectors ? from[j + k * step] : blank;
            #pragma unroll
            for (int k = 0; k < 4; ++k) sums.add(v[k]);
        }
        #pragma unroll
        for (int k = 0; k < kHeld; ++k) sums.add(held[k]);
        sums.add(loose);
        const int stay = min(p.vectors, last);
        __pipeline_wait_prior(0);  // what this thread has copied is there: nobody else reads it
        #pragma unroll 4
        for (int i = first + tid; i < stay; i += step) sums.add(cache[i - first]);

        const int own = tid < min(first, p.vectors) ? (min(first, p.vectors) - tid + step - 1) / step : 0;
        const int copied = first + tid < stay ? (stay - first - tid + step - 1) / step : 0;
        const int again = last + tid < p.vectors ? (p.vectors - last - tid + step - 1) / step : 0;
        Stat s = block_merge(sums.stat(4.0f * (own + copied + again) + (ragged ? 1.0f : 0.0f)), turn);
        if (rows.parts > 1) s = row_merge(s, partial + p.row * rows.parts, arrived + p.row, p.part, rows.parts);

        // The remainder goes backwards: its end is still in L2. Shared memory comes before the registers: once it is
        // free the next part is on its way there.
        const int64_t start = p.row * rows.n;
        const Affine affine = {s.mean, rsqrtf(s.m2 / rows.n + eps), weight, bias, (unsigned)(start / inner % channels), (unsigned)inner};
        const unsigned at = (unsigned)(p.begin + p.head - start);
        #pragma unroll 2
        for (j -= step; j >= last; j -= step)
            if (j < p.vectors) to[j] = affine.value(from[j], at + 4 * j);
        #pragma unroll 2
        for (int i = first + tid; i < stay; i += step) to[i] = affine.value(cache[i - first], at + 4 * i);
        const int vectors = p.vectors;
        piece += gridDim.x;
        const bool more = piece < rows.count * rows.parts;
        if (more) {
            p = part_of(x, rows, piece);
            fetch(cache, x, p, first, last);
        }
        #pragma unroll
        for (int k = 0; k < kHeld; ++k)
            if (tid + k * step < vectors) to[tid + k * step] = affine.value(held[k], at + 4 * (tid + k * step));
        if (ragged) y[edge] = affine.value(loose, (unsigned)(edge - start));
        if (!more) return;
        turn ^= 1;
    }
}

// Few groups of many values, each value with a weight and a bias of its own: were a group's parameters read anew for
// every group, the L2 cache would have twice as much to give. So three kernels: parts of the statistics, statistics, and
// results, where a thread keeps four values' parameters and goes through all groups. x is read twice.
__global__ void __launch_bounds__(kThreads) part_kernel(const float* __restrict__ x, Stat* __restrict__ partial, int64_t n, int64_t stretch, int parts) {
    const int64_t group = blockIdx.x / parts;
    const int64_t begin = blockIdx.x % parts * stretch;
    const float4* __restrict__ from = (const float4*)(x + group * n + begin);
    const int vectors = (int)(min(stretch, n - begin) / 4), step = blockDim.x;
    Sums sums = {x[group * n], 0.0f, 0.0f};
    const float4 blank = make_float4(sums.around, sums.around, sums.around, sums.around);  // adds zeros
    for (int i = threadIdx.x; i < vectors; i += 4 * step) {
        float4 v[4];
        #pragma unroll
        for (int k = 0; k < 4; ++k) v[k] = i + k * step < vectors ? from[i + k * step] : blank;
        #pragma unroll
        for (int k = 0; k < 4; ++k) sums.add(v[k]);
    }
    const int own = (int)threadIdx.x < vectors ? (vectors - (int)threadIdx.x + step - 1) / step : 0;
    const Stat s = block_merge(sums.stat(4.0f * own), 0);
    if (threadIdx.x == 0) partial[blockIdx.x] = s;
}

// One warp a group.
__global__ void __launch_bounds__(32) join_kernel(const Stat* __restrict__ partial, float2* __restrict__ moments, int parts, int64_t n, float eps) {
    Stat s = empty_stat();
    for (int part = threadIdx.x; part < parts; part += 32) s = merge(s, partial[(int64_t)blockIdx.x * parts + part]);
    s = warp_merge(s);
    if (threadIdx.x == 0) moments[blockIdx.x] = make_float2(s.mean, rsqrtf(s.m2 / n + eps));
}

__global__ void __launch_bounds__(256) apply_kernel(
        const float4* __restrict__ x, float4* __restrict__ y, const float4* __restrict__ weight, const float4* __restrict__ bias,
        const float2* __restrict__ moments, int64_t vectors, int groups) {
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= vectors) return;
    const float4 w = weight[i], b = bias[i];
    #pragma unroll 4
    for (int group = groups - 1; group >= 0; --group) {  // backwards: the last groups are still in L2
        const float2 m = moments[group];
        const float4 v = __ldg(x + group * vectors + i);
        y[group * vectors + i] = make_float4((v.x - m.x) * (m.y * w.x) + b.x, (v.y - m.x) * (m.y * w.y) + b.y,
                                             (v.z - m.x) * (m.y * w.z) + b.z, (v.w - m.x) * (m.y * w.w) + b.w);
    }
}

static void normalise_few(
        const float* x, float* y, const float* weight, const float* bias, int64_t n, int64_t groups, const Rows& rows, float eps,
        const torch::TensorOptions& floats) {
    auto results = torch::empty({groups * rows.parts * (int64_t)sizeof(Stat)}, floats.dtype(torch::kUInt8));
    auto moments = torch::empty({groups, 2}, floats);
    Stat* partial = (Stat*)results.data_ptr<uint8_t>();
    float2* of_groups = (float2*)moments.data_ptr<float>();
    const auto stream = at::cuda::getCurrentCUDAStream();
    part_kernel<<<(unsigned)(groups * rows.parts), kThreads, 0, stream>>>(x, partial, n, rows.stretch, rows.parts);
    join_kernel<<<(unsigned)groups, 32, 0, stream>>>(partial, of_groups, rows.parts, n, eps);
    apply_kernel<<<(unsigned)((n / 4 + 255) / 256), 256, 0, stream>>>(
        (const float4*)x, (float4*)y, (const float4*)weight, (const float4*)bias, of_groups, n / 4, (int)groups);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
}

// How rows are shared out among blocks.
struct Plan {
    Rows rows;
    int threads;
    size_t shared;
    unsigned grid;
};

template <typename Kernel>
static Plan plan_rows(Kernel kernel, int64_t n, int64_t count, int device) {
    int multiprocessors = 0, most_shared = 0, all_shared = 0, resident = 0;
    cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
    cudaDeviceGetAttribute(&most_shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    cudaDeviceGetAttribute(&all_shared, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device);
    Plan plan = {{count, n, n, 1, 0}, 32, 0, 1};
    while (plan.threads < kThreads && 4 * kHeld * plan.threads < n) plan.threads *= 2;
    const int64_t in_registers = 4 * kHeld * plan.threads;
    if (n <= in_registers) {
        plan.grid = (unsigned)count;
        return plan;
    }
    // 3 KB are left for the system and for the kernel's own arrays.
    const int64_t blocks = (int64_t)multiprocessors * kBlocks;
    const int64_t room = (std::min(most_shared, all_shared / kBlocks) - 3072) / (int)sizeof(float4);
    const int64_t fits = in_registers + 4 * room;
    // As many parts as make a row fit; more where rows are few, so that all multiprocessors have work. The blocks that
    // are there at once hold whole rows: nobody waits for a block that is still busy with an earlier row.
    const int64_t wanted = std::max((n + fits - 1) / fits, std::min(blocks / count, n / in_registers));
    int64_t parts = std::min(blocks, wanted);
    if (parts > 1) parts = blocks / (blocks / parts);
    if (parts > 1) plan.rows.stretch = ((n + parts - 1) / parts + 31) / 32 * 32;  // parts of a row lie alike
    plan.rows.parts = (int)((n + plan.rows.stretch - 1) / plan.rows.stretch);
    plan.rows.kept = (int)std::max((int64_t)0, std::min(room, (plan.rows.stretch - in_registers + 3) / 4));
    plan.shared = plan.rows.kept * sizeof(float4);
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)plan.shared);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, plan.threads, plan.shared);
    const int64_t at_once = (int64_t)multiprocessors * std::max(resident, 1) / plan.rows.parts;  // rows
    plan.grid = (unsigned)(plan.rows.parts * std::min(count, std::max(at_once, (int64_t)1)));
    return plan;
}

// `groups` stretches of memory are normalised each by itself; parameter c covers `inner` values.
torch::Tensor layer_norm_forward(torch::Tensor x, std::optional<torch::Tensor> weight,
                             std::optional<torch::Tensor> bias, int64_t groups, int64_t inner, double eps) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat32, "layer_norm_forward takes a float32 CUDA tensor");
    x = x.contiguous();
    auto y = torch::empty_like(x);
    if (x.numel() == 0) return y;
    // Group by group x and y must lie alike to the 16-byte boundaries; a view into the middle of a tensor may not.
    if (((uintptr_t)x.data_ptr<float>() - (uintptr_t)y.data_ptr<float>()) % 16) x = x.clone();
    torch::Tensor w, b;
    if (weight.has_value()) w = weight->contiguous();
    if (bias.has_value()) b = bias->contiguous();
    int64_t channels = w.defined() ? w.numel() : 1;
    const float* from = x.data_ptr<float>();
    float* to = y.data_ptr<float>();
    const float* wp = w.defined() ? w.data_ptr<float>() : nullptr;
    const float* bp = b.defined() ? b.data_ptr<float>() : nullptr;
    float epsilon = (float)eps;
    const auto stream = at::cuda::getCurrentCUDAStream();
    const int64_t n = x.numel() / groups;
    Plan plan = plan_rows(normalise_kernel, n, groups, (int)x.get_device());
    const bool wide = n % 4 == 0 && ((uintptr_t)from | (uintptr_t)to | (uintptr_t)wp | (uintptr_t)bp) % 16 == 0;
    if (wp && bp && wide && plan.rows.parts > 1 && groups >= 4) {
        normalise_few(from, to, wp, bp, n, groups, plan.rows, epsilon, x.options());
        return y;
    }
    Stat* partial = nullptr;
    int* arrived = nullptr;
    if (plan.rows.parts == 1) {
        normalise_kernel<<<plan.grid, plan.threads, plan.shared, stream>>>(
            from, to, wp, bp, partial, arrived, plan.rows, inner, channels, epsilon);
    } else {
        const int64_t shares = plan.rows.count * plan.rows.parts;
        auto results = torch::empty({shares * (int64_t)sizeof(Stat)}, x.options().dtype(torch::kUInt8));
        auto counts = torch::zeros({plan.rows.count}, x.options().dtype(torch::kInt32));
        partial = (Stat*)results.data_ptr<uint8_t>();
        arrived = counts.data_ptr<int>();
        void* arguments[] = {&from, &to, &wp, &bp, &partial, &arrived, &plan.rows, &inner, &channels, &epsilon};
        cudaLaunchCooperativeKernel((const void*)normalise_kernel, dim3(plan.grid), dim3(plan.threads), arguments, plan.shared, stream);
    }
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}
"""

CPP = "torch::Tensor layer_norm_forward(torch::Tensor x, std::optional<torch::Tensor> weight, std::optional<torch::Tensor> bias, int64_t groups, int64_t inner, double eps);"

layer_norm_extension = load_inline(
    name="layer_norm_extension",
    cpp_sources=CPP,
    cuda_sources=CUDA,
    functions=["layer_norm_forward"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self, normalized_shape: tuple):
        super().__init__()
        self.ln = nn.LayerNorm(normalized_shape=normalized_shape)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        groups = x.numel() // self.ln.weight.numel()
        return layer_norm_extension.layer_norm_forward(x, self.ln.weight, self.ln.bias, groups, 1, self.ln.eps)
