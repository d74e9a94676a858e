"""RMS norm over dim 1 of a 4-D tensor: reference-fixed kernel.

The result of a row changes each of its values, so the row has to stay near: it is read once into registers
and shared memory, reduced there, changed and written. A row that is too large for one multiprocessor is
shared by several, which tell each other their parts of the result.
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

// What is known of the values seen so far.
struct Stat {
    float sum;
};

__device__ __forceinline__ Stat empty_stat() {
    Stat s;
    s.sum = 0.0f;
    return s;
}

__device__ __forceinline__ Stat merge(Stat a, Stat b) {
    a.sum += b.sum;
    return a;
}

// All lanes of a warp get the warp's result: with xor every lane takes part in every step.
__device__ __forceinline__ Stat warp_merge(Stat s) {
    for (int offset = 16; offset > 0; offset >>= 1) {
        Stat other;
        other.sum = __shfl_xor_sync(0xffffffffu, s.sum, offset);
        s = merge(s, other);
    }
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

__device__ __forceinline__ void add(Stat& s, float v) {
    s.sum += v * v;
}

__device__ __forceinline__ float value_of(Stat s, float n, float eps, float v) {
    return v * rsqrtf(s.sum / n + eps);
}

// Several vectors of four neighbouring values.
template <int kCount>
__device__ __forceinline__ void add(Stat& s, const float4 (&v)[kCount]) {
    #pragma unroll
    for (int k = 0; k < kCount; ++k) {
        add(s, v[k].x);
        add(s, v[k].y);
        add(s, v[k].z);
        add(s, v[k].w);
    }
}

__device__ __forceinline__ float4 value_of(Stat s, float n, float eps, float4 v) {
    return make_float4(value_of(s, n, eps, v.x), value_of(s, n, eps, v.y),
                       value_of(s, n, eps, v.z), value_of(s, n, eps, v.w));
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
        one.sum = __ldcg(&partial[other].sum);
        all = merge(all, one);
    }
    return warp_merge(all);
}

constexpr int kThreads = 512;  // of a block, at most
constexpr int kBlocks = 2;     // of that size that share a multiprocessor
constexpr int kHeld = 4;       // vectors of four values that a thread keeps in registers
constexpr float kBlank = 0.0f;  // a value that changes nothing

// `count` rows of n values, each in `parts` parts of `stretch` values; the last one may be shorter. Of a part `kept`
// vectors of 16 bytes fit into shared memory.
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

// Rows that lie together in memory. A block takes one part of one row: most rows are one part, rows beyond what a
// multiprocessor can hold are shared by several blocks. The part stays on the chip between its two uses, kHeld
// vectors a thread in registers and `kept` vectors a block in shared memory, so that memory is read once and written
// once. Only of a row that is larger than all multiprocessors together a remainder is read again.
__global__ void __launch_bounds__(kThreads, kBlocks) row_kernel(
        const float* __restrict__ x, float* __restrict__ y, Stat* partial, int* arrived, Rows rows, float eps) {
    extern __shared__ float4 cache[];
    const int tid = threadIdx.x, step = blockDim.x;
    const int first = kHeld * step;      // the vectors before are in registers,
    const int last = first + rows.kept;  // those from here on are read again
    const float4 blank = make_float4(kBlank, kBlank, kBlank, kBlank);
    int turn = 0;
    int64_t piece = blockIdx.x;
    Part p = part_of(x, rows, piece);
    fetch(cache, x, p, first, last);
    while (true) {
        const float4* __restrict__ from = (const float4*)(x + p.begin + p.head);
        float4* __restrict__ to = (float4*)(y + p.begin + p.head);
        const bool ragged = tid < p.count - 4 * p.vectors;
        const int64_t edge = p.begin + (tid < p.head ? tid : 4 * p.vectors + tid);
        const float loose = ragged ? x[edge] : kBlank;
        float4 held[kHeld];
        #pragma unroll
        for (int k = 0; k < kHeld; ++k) held[k] = tid + k * step < p.vectors ? __ldcs(from + tid + k * step) : blank;

        Stat s = empty_stat();
        int j = last + tid;
        for (; j < p.vectors; j += 4 * step) {
            float4 v[4];
            #pragma unroll
            for (int k = 0; k < 4; ++k) v[k] = j + k * step < p.vectors ? from[j + k * step] : blank;
            add(s, v);
        }
        add(s, held);
        add(s, loose);
        const int stay = min(p.vectors, last);
        __pipeline_wait_prior(0);  // what this thread has copied is there: nobody else reads it
        for (int i = first + tid; i < stay; i += 2 * step) {
            const float4 v[2] = {cache[i - first], i + step < stay ? cache[i + step - first] : blank};
            add(s, v);
        }
        s = block_merge(s, turn);
        if (rows.parts > 1) s = row_merge(s, partial + p.row * rows.parts, arrived + p.row, p.part, rows.parts);

        // The remainder goes backwards: its end is still in L2. Shared memory comes before the registers: once it is
        // free the next part is on its way there.
        #pragma unroll 2
        for (j -= step; j >= last; j -= step)
            if (j < p.vectors) __stcs(to + j, value_of(s, rows.n, eps, from[j]));
        #pragma unroll 2
        for (int i = first + tid; i < stay; i += step) __stcs(to + i, value_of(s, rows.n, eps, cache[i - first]));
        const int vectors = p.vectors;
        piece += gridDim.x;
        const bool more = piece < rows.count * rows.parts;
        if (more) {
            p = part_of(x, rows, piece);
            fetch(cache, x, p, first, last);
        }
        #pragma unroll
        for (int k = 0; k < kHeld; ++k)
            if (tid + k * step < vectors) __stcs(to + tid + k * step, value_of(s, rows.n, eps, held[k]));
        if (ragged) y[edge] = value_of(s, rows.n, eps, loose);
        if (!more) return;
        turn ^= 1;
    }
}

__device__ __forceinline__ void load(const float* p, float (&v)[1]) { v[0] = __ldcs(p); }
__device__ __forceinline__ void load(const float* p, float (&v)[4]) {
    const float4 four = __ldcs((const float4*)p);
    v[0] = four.x, v[1] = four.y, v[2] = four.z, v[3] = four.w;
}
__device__ __forceinline__ void store(float* p, const float (&v)[1]) { __stcs(p, v[0]); }
__device__ __forceinline__ void store(float* p, const float (&v)[4]) { __stcs((float4*)p, make_float4(v[0], v[1], v[2], v[3])); }

constexpr int kLayer = 8;  // values of a column that a thread keeps in registers

// Values that lie `inner` apart: x is [outer, n, inner]. A block takes 32 * kWide neighbouring columns, so that every
// load is coalesced; its blockDim.y layers share the n values, of which each thread keeps kLayer times kWide.
template <int kWide>
__global__ void __launch_bounds__(512) column_kernel(
        const float* __restrict__ x, float* __restrict__ y, int n, int64_t inner, float eps) {
    __shared__ Stat partial[16][32 * kWide];
    const int64_t tiles = (inner + 32 * kWide - 1) / (32 * kWide);
    const int64_t column = (blockIdx.x % tiles * 32 + threadIdx.x) * kWide;
    const int64_t base = blockIdx.x / tiles * n * inner + column;
    const int layer = threadIdx.y, layers = blockDim.y;
    const bool inside = column < inner;  // of kWide columns all are, or none
    float held[kLayer][kWide];
    Stat s[kWide];
    #pragma unroll
    for (int w = 0; w < kWide; ++w) s[w] = empty_stat();
    if (inside) {
        #pragma unroll
        for (int k = 0; k < kLayer; ++k)
            if (layer + k * layers < n) load(x + base + (layer + k * layers) * inner, held[k]);
        #pragma unroll 4
        for (int i = layer + kLayer * layers; i < n; i += layers) {
            float v[kWide];
            load(x + base + i * inner, v);
            #pragma unroll
            for (int w = 0; w < kWide; ++w) add(s[w], v[w]);
        }
        #pragma unroll
        for (int k = 0; k < kLayer; ++k)
            #pragma unroll
            for (int w = 0; w < kWide; ++w)
                if (layer + k * layers < n) add(s[w], held[k][w]);
    }
    #pragma unroll
    for (int w = 0; w < kWide; ++w) partial[layer][threadIdx.x * kWide + w] = s[w];
    __syncthreads();
    if (!inside) return;
    #pragma unroll
    for (int w = 0; w < kWide; ++w) {
        s[w] = partial[0][threadIdx.x * kWide + w];
        for (int other = 1; other < layers; ++other) s[w] = merge(s[w], partial[other][threadIdx.x * kWide + w]);
    }
    #pragma unroll 2
    for (int i = layer + kLayer * layers; i < n; i += layers) {
        float v[kWide];
        load(x + base + i * inner, v);
        #pragma unroll
        for (int w = 0; w < kWide; ++w) v[w] = value_of(s[w], n, eps, v[w]);
        store(y + base + i * inner, v);
    }
    #pragma unroll
    for (int k = 0; k < kLayer; ++k)
        if (layer + k * layers < n) {
            #pragma unroll
            for (int w = 0; w < kWide; ++w) held[k][w] = value_of(s[w], n, eps, held[k][w]);
            store(y + base + (layer + k * layers) * inner, held[k]);
        }
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
    // As many parts as make a row fit; more where rows are few, so that all multiprocessors have work.
    const int64_t wanted = std::max((n + fits - 1) / fits, std::min(blocks / count, n / in_registers));
    const int64_t parts = std::min(blocks, wanted);
    if (parts > 1) plan.rows.stretch = ((n + parts - 1) / parts + 31) / 32 * 32;  // parts of a row lie alike
    plan.rows.parts = (int)((n + plan.rows.stretch - 1) / plan.rows.stretch);
    plan.rows.kept = (int)std::max((int64_t)0, std::min(room, (plan.rows.stretch - in_registers + 3) / 4));
    plan.shared = plan.rows.kept * sizeof(float4);
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)plan.shared);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, plan.threads, plan.shared);
    plan.grid = (unsigned)std::min(count * plan.rows.parts, (int64_t)multiprocessors * std::max(resident, 1));
    return plan;
}

torch::Tensor rms_norm_cuda(torch::Tensor x, double eps, int64_t dim) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat32, "rms_norm_cuda takes a float32 CUDA tensor");
    x = x.contiguous();
    auto y = torch::empty_like(x);
    if (x.numel() == 0) return y;
    // Row by row x and y must lie alike to the 16-byte boundaries; a view into the middle of a tensor may not.
    if (((uintptr_t)x.data_ptr<float>() - (uintptr_t)y.data_ptr<float>()) % 16) x = x.clone();
    if (dim < 0) dim += x.dim();
    int64_t inner = 1;
    for (int64_t d = dim + 1; d < x.dim(); ++d) inner *= x.size(d);
    const int64_t n = x.size(dim);
    const float* from = x.data_ptr<float>();
    float* to = y.data_ptr<float>();
    const auto stream = at::cuda::getCurrentCUDAStream();
    if (inner > 1) {
        const bool wide = inner % 4 == 0 && (uintptr_t)from % 16 == 0;
        const int columns = wide ? 128 : 32;
        int layers = 1;
        while (layers < 16 && layers * kLayer < n) layers *= 2;
        const int64_t blocks = x.numel() / (n * inner) * ((inner + columns - 1) / columns);
        const auto kernel = wide ? column_kernel<4> : column_kernel<1>;
        kernel<<<(unsigned)blocks, dim3(32, layers), 0, stream>>>(from, to, (int)n, inner, (float)eps);
        C10_CUDA_KERNEL_LAUNCH_CHECK();
        return y;
    }
    Plan plan = plan_rows(row_kernel, n, x.numel() / n, (int)x.get_device());
    Stat* partial = nullptr;
    int* arrived = nullptr;
    if (plan.rows.parts == 1) {
        row_kernel<<<plan.grid, plan.threads, plan.shared, stream>>>(from, to, partial, arrived, plan.rows, (float)eps);
    } else {
        const int64_t shares = plan.rows.count * plan.rows.parts;
        auto results = torch::empty({shares * (int64_t)sizeof(Stat)}, x.options().dtype(torch::kUInt8));
        auto counts = torch::zeros({plan.rows.count}, x.options().dtype(torch::kInt32));
        partial = (Stat*)results.data_ptr<uint8_t>();
        arrived = counts.data_ptr<int>();
        float eps_value = (float)eps;
        void* arguments[] = {&from, &to, &partial, &arrived, &plan.rows, &eps_value};
        cudaLaunchCooperativeKernel((const void*)row_kernel, dim3(plan.grid), dim3(plan.threads), arguments, plan.shared, stream);
    }
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}
"""

CPP = "torch::Tensor rms_norm_cuda(torch::Tensor x, double eps, int64_t dim);"

rms_norm_ext = load_inline(
    name="rms_norm_ext",
    cpp_sources=CPP,
    cuda_sources=CUDA,
    functions=["rms_norm_cuda"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self, num_features: int, eps: float = 1e-5):
        super().__init__()
        self.num_features = num_features
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return rms_norm_ext.rms_norm_cuda(x, self.eps, 1)
