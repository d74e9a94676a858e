// What PTX leaves open, asked of a machine: see tests/gpu/recorded. A check says what a forgiving
// machine gives; whether it holds on a GPU is in the recording, not here.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

// Threads that have exited, and barriers.

//! launch warp_exits grid=1 block=64 out:i4:64
//! check (a0[:32] == 7).all()
extern "C" __global__ void warp_exits(int* y) {
    y[threadIdx.x] = 1;
    if (threadIdx.x >= 32) return;
    __syncthreads();
    y[threadIdx.x] = 7;
}

//! launch lanes_exit grid=1 block=64 in:f4:64 out:f4:64 40
//! check np.array_equal(a1[:40], a0[39::-1])
extern "C" __global__ void lanes_exit(const float* x, float* y, int n) {
    __shared__ float s[64];
    if (threadIdx.x >= n) return;
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = s[n - 1 - threadIdx.x];
}

//! launch one_thread_left grid=1 block=256 out:i4:1
//! check a0[0] == 3
extern "C" __global__ void one_thread_left(int* y) {
    if (threadIdx.x != 77) return;
    __syncthreads();
    y[0] = 1;
    __syncthreads();
    y[0] += 2;
}

//! launch lanes_leave_loop grid=1 block=64 out:i4:64
//! check np.array_equal(a0, np.arange(64) % 4 + 1)
extern "C" __global__ void lanes_leave_loop(int* y) {
    y[threadIdx.x] = 0;
    for (int k = 0; k < threadIdx.x % 4 + 1; ++k) {
        y[threadIdx.x] += 1;
        __syncthreads();
    }
}

//! launch return_then_tree grid=3 block=128 in:f4:300 zero:f4:3 300
//! check np.allclose(a1, [a0[:128].sum(), a0[128:256].sum(), a0[256:].sum()], atol=1e-4)
extern "C" __global__ void return_then_tree(const float* x, float* y, int n) {
    __shared__ float s[128];
    int t = threadIdx.x, i = blockIdx.x * 128 + t;
    if (i >= n) return;
    s[t] = x[i];
    __syncthreads();
    for (int k = 64; k; k >>= 1) {
        if (t < k && i + k < n) s[t] += s[t + k];
        __syncthreads();
    }
    if (t == 0) y[blockIdx.x] = s[0];
}

// Barriers at different lines.

//! launch two_lines_in_warp grid=1 block=64 in:f4:64 out:f4:64
//! check np.array_equal(a1, a0[::-1])
extern "C" __global__ void two_lines_in_warp(const float* x, float* y) {
    __shared__ float s[64];
    int t = threadIdx.x;
    if (t % 2) {
        s[t] = x[t];
        __syncthreads();
        y[t] = s[63 - t];
    } else {
        s[t] = x[t] * 1.f;
        __syncthreads();
        y[t] = s[63 - t] + 0.f;
    }
}

//! launch two_lines_by_warp grid=1 block=64 in:f4:64 out:f4:64
//! check np.array_equal(a1, a0[::-1])
extern "C" __global__ void two_lines_by_warp(const float* x, float* y) {
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    if (t < 32) {
        __syncthreads();
        y[t] = s[63 - t];
    } else {
        asm volatile("// kept apart");
        __syncthreads();
        y[t] = s[63 - t] + 0.f;
    }
}

//! launch barrier_for_half_warp grid=1 block=32 out:i4:32
//! check (a0 == 2).all()
extern "C" __global__ void barrier_for_half_warp(int* y) {
    if (threadIdx.x < 16) {
        y[threadIdx.x] = 1;
        __syncthreads();
    }
    __syncthreads();
    y[threadIdx.x] = 2;
}

//! launch barrier_for_one_warp grid=1 block=64 out:i4:64
//! check (a0 == 2).all()
extern "C" __global__ void barrier_for_one_warp(int* y) {
    if (threadIdx.x < 32) {
        y[threadIdx.x] = 1;
        __syncthreads();
    }
    __syncthreads();
    y[threadIdx.x] = 2;
}

//! launch barrier_trips_in_warp grid=1 block=64 zero:i4:64 9
//! check np.array_equal(a0, np.full(64, 9))
extern "C" __global__ void barrier_trips_in_warp(int* y, int n) {
    for (int i = threadIdx.x; i < n * 64; i += 64) {
        if (i % 3 == 0) __syncthreads();
        y[threadIdx.x] += 1;
    }
}

// Races that a machine may forgive.

//! launch volatile_tree grid=1 block=64 in:f4:64 out:f4:1
//! check np.allclose(a1[0], a0.sum(), atol=1e-4)
extern "C" __global__ void volatile_tree(const float* x, float* y) {
    __shared__ volatile float s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    if (t < 32) {
        s[t] += s[t + 32];
        s[t] += s[t + 16];
        s[t] += s[t + 8];
        s[t] += s[t + 4];
        s[t] += s[t + 2];
        s[t] += s[t + 1];
    }
    if (t == 0) y[0] = s[0];
}

//! launch plain_tree grid=1 block=64 in:f4:64 out:f4:1
//! check np.allclose(a1[0], a0.sum(), atol=1e-4)
extern "C" __global__ void plain_tree(const float* x, float* y) {
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    if (t < 32) {
        s[t] += s[t + 32];
        s[t] += s[t + 16];
        s[t] += s[t + 8];
        s[t] += s[t + 4];
        s[t] += s[t + 2];
        s[t] += s[t + 1];
    }
    if (t == 0) y[0] = s[0];
}

//! launch warp_tree_in_loop grid=4 block=256 in:f4:1024 out:f4:4
//! check np.allclose(a1, a0.reshape(4, 256).sum(1), atol=1e-4)
extern "C" __global__ void warp_tree_in_loop(const float* x, float* y) {
    __shared__ float s[256];
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * 256 + t];
    __syncthreads();
    for (int k = 128; k > 16; k >>= 1) {
        if (t < k) s[t] += s[t + k];
        __syncthreads();
    }
    if (t < 16)
        for (int k = 16; k > 0; k >>= 1)
            if (t < k) s[t] += s[t + k];
    if (t == 0) y[blockIdx.x] = s[0];
}

//! launch volatile_neighbour grid=1 block=64 in:f4:64 out:f4:64
//! check np.array_equal(a1, a0[::-1])
extern "C" __global__ void volatile_neighbour(const float* x, float* y) {
    __shared__ volatile float s[64];
    s[threadIdx.x] = x[threadIdx.x];
    y[threadIdx.x] = s[63 - threadIdx.x];
}

//! launch same_value_two_lines grid=1 block=64 out:i4:64 5
//! check (a0 == 5).all()
extern "C" __global__ void same_value_two_lines(int* y, int n) {
    __shared__ int five;
    if (threadIdx.x < 32) five = n;
    else five = n + 0;
    __syncthreads();
    y[threadIdx.x] = five;
}

//! launch found_flag grid=1 block=128 in:f4:128 out:i4:1
//! check a1[0] == 1
extern "C" __global__ void found_flag(const float* x, int* y) {
    __shared__ int found;
    if (threadIdx.x == 0) found = 0;
    __syncthreads();
    if (x[threadIdx.x] > 0) found = 1;
    __syncthreads();
    if (threadIdx.x == 0) y[0] = found;
}

//! launch same_value_read grid=1 block=64 zero:i4:1 out:i4:64
//! check (a1 <= 1).all()
extern "C" __global__ void same_value_read(int* flag, int* y) {
    *flag = 1;
    y[threadIdx.x] = *(volatile int*)flag;
}

// Shuffles and warp barriers whose mask names lanes that are elsewhere.

//! launch shuffle_some_lanes grid=1 block=32 in:f4:32 out:f4:32
//! check np.allclose(a1[0], a0[:8].sum(), atol=1e-5)
extern "C" __global__ void shuffle_some_lanes(const float* x, float* y) {
    float v = x[threadIdx.x];
    y[threadIdx.x] = 0;
    if (threadIdx.x < 8) {
        for (int o = 4; o; o >>= 1) v += __shfl_down_sync(0xffffffffu, v, o);
        y[threadIdx.x] = v;
    }
}

//! launch block_reduce_first_lanes grid=4 block=256 in:f4:1024 out:f4:4
//! check np.allclose(a1, a0.reshape(4, 256).sum(1), atol=1e-4)
extern "C" __global__ void block_reduce_first_lanes(const float* x, float* y) {
    __shared__ float s[8];
    int t = threadIdx.x;
    float v = x[blockIdx.x * 256 + t];
    for (int o = 16; o; o >>= 1) v += __shfl_down_sync(0xffffffffu, v, o);
    if (t % 32 == 0) s[t / 32] = v;
    __syncthreads();
    if (t < blockDim.x / 32) {
        v = s[t];
        for (int o = 4; o; o >>= 1) v += __shfl_down_sync(0xffffffffu, v, o);
        if (t == 0) s[0] = v;
    }
    __syncthreads();
    if (t == 0) y[blockIdx.x] = s[0];
}

//! launch block_reduce_16_offsets grid=4 block=256 in:f4:1024 out:f4:4
//! check np.allclose(a1, a0.reshape(4, 256).sum(1), atol=1e-4)
extern "C" __global__ void block_reduce_16_offsets(const float* x, float* y) {
    __shared__ float s[32];
    int t = threadIdx.x;
    float v = x[blockIdx.x * 256 + t];
    for (int o = 16; o; o >>= 1) v += __shfl_down_sync(0xffffffffu, v, o);
    if (t < 32) s[t] = 0;
    __syncthreads();
    if (t % 32 == 0) s[t / 32] = v;
    __syncthreads();
    if (t < blockDim.x / 32) {
        v = s[t];
        for (int o = 16; o; o >>= 1) v += __shfl_down_sync(0xffffffffu, v, o);
        if (t == 0) y[blockIdx.x] = v;
    }
}

//! launch shuffle_in_ragged_loop grid=1 block=32 in:f4:48 out:f4:48 40
//! check np.array_equal(a1[:32], a0[np.arange(32) ^ 1])
extern "C" __global__ void shuffle_in_ragged_loop(const float* x, float* y, int n) {
    for (int i = threadIdx.x; i < n; i += 32) y[i] = __shfl_xor_sync(0xffffffffu, x[i], 1);
}

//! launch shuffle_two_lines grid=1 block=32 in:f4:32 out:f4:32
//! check np.array_equal(a1, a0[np.arange(32) ^ 16] * np.where(np.arange(32) < 16, 1, 2))
extern "C" __global__ void shuffle_two_lines(const float* x, float* y) {
    float v = x[threadIdx.x];
    if (threadIdx.x < 16) {
        y[threadIdx.x] = __shfl_xor_sync(0xffffffffu, v, 16);
    } else {
        asm volatile("// kept apart");
        y[threadIdx.x] = __shfl_xor_sync(0xffffffffu, v, 16) * 2.f;
    }
}

//! launch ballot_some_lanes grid=1 block=32 out:i4:32
//! check (a0[:20] == 20).all()
extern "C" __global__ void ballot_some_lanes(int* y) {
    y[threadIdx.x] = 0;
    if (threadIdx.x < 20) y[threadIdx.x] = __popc(__ballot_sync(0xffffffffu, 1));
}

//! launch syncwarp_some_lanes grid=1 block=64 out:i4:64
//! check (a0 == 3).all()
extern "C" __global__ void syncwarp_some_lanes(int* y) {
    y[threadIdx.x] = 1;
    if (threadIdx.x % 32 < 8) {
        y[threadIdx.x] = 2;
        __syncwarp();
    }
    __syncthreads();
    y[threadIdx.x] = 3;
}

//! launch syncwarp_two_lines grid=1 block=32 out:i4:32
//! check (a0[:16] == 1).all() and (a0[16:] == 2).all()
extern "C" __global__ void syncwarp_two_lines(int* y) {
    if (threadIdx.x < 16) {
        __syncwarp();
        y[threadIdx.x] = 1;
    } else {
        asm volatile("// kept apart");
        __syncwarp();
        y[threadIdx.x] = 2;
    }
}

//! launch shuffle_active_mask grid=1 block=32 in:f4:32 out:f4:32
//! check np.array_equal(a1[:20], np.full(20, a0[0]))
extern "C" __global__ void shuffle_active_mask(const float* x, float* y) {
    y[threadIdx.x] = 0;
    if (threadIdx.x < 20) y[threadIdx.x] = __shfl_sync(__activemask(), x[threadIdx.x], 0);
}

//! launch shuffle_after_some_exit grid=2 block=64 in:f4:100 out:f4:100 100
//! check np.array_equal(a1[:96], a0[:96][np.arange(96) ^ 1])
extern "C" __global__ void shuffle_after_some_exit(const float* x, float* y, int n) {
    int i = blockIdx.x * 64 + threadIdx.x;
    if (i >= n) return;
    y[i] = __shfl_xor_sync(0xffffffffu, x[i], 1);
}

// Blocks that wait for each other.

//! launch waits_for_later_block grid=2 block=32 zero:i4:1 out:i4:2
//! check (a1 == 1).all()
extern "C" __global__ void waits_for_later_block(volatile int* flag, int* y) {
    if (blockIdx.x == 1) *flag = 1;
    while (*flag == 0) {}
    y[blockIdx.x] = 1;
}

//! launch counted_grid_barrier grid=16 block=64 in:f4:1024 zero:i4:1 out:f4:1024 out:f4:16
//! check np.allclose(a3, a0.reshape(16, 64).sum(1)[::-1], atol=1e-4)
extern "C" __global__ void counted_grid_barrier(const float* x, int* count, float* part, float* y) {
    int t = threadIdx.x;
    part[blockIdx.x * 64 + t] = x[blockIdx.x * 64 + t];
    __threadfence();
    __syncthreads();
    if (t == 0) {
        atomicAdd(count, 1);
        while (atomicAdd(count, 0) < gridDim.x) {}
        __threadfence();
    }
    __syncthreads();
    if (t == 0) {
        float s = 0;
        for (int k = 0; k < 64; ++k) s += part[(gridDim.x - 1 - blockIdx.x) * 64 + k];
        y[blockIdx.x] = s;
    }
}

//! launch grid_sync grid=8 block=64 cooperative=1 in:f4:512 out:f4:512 out:f4:512
//! check np.array_equal(a2, a0[::-1])
extern "C" __global__ void grid_sync(const float* x, float* tmp, float* y) {
    int i = blockIdx.x * 64 + threadIdx.x;
    tmp[i] = x[i];
    cg::this_grid().sync();
    y[i] = tmp[511 - i];
}

//! launch chained_sum grid=20 block=64 in:f4:1280 zero:f4:20 zero:i4:20
//! check np.allclose(a1, np.cumsum(a0.reshape(20, 64).sum(1)), atol=1e-3)
extern "C" __global__ void chained_sum(const float* x, volatile float* sum, volatile int* ready) {
    __shared__ float s;
    if (threadIdx.x == 0) s = 0;
    __syncthreads();
    atomicAdd(&s, x[blockIdx.x * 64 + threadIdx.x]);
    __syncthreads();
    if (threadIdx.x == 0) {
        float before = 0;
        if (blockIdx.x > 0) {
            while (ready[blockIdx.x - 1] == 0) {}
            __threadfence();
            before = sum[blockIdx.x - 1];
        }
        sum[blockIdx.x] = before + s;
        __threadfence();
        ready[blockIdx.x] = 1;
    }
}

//! launch blocks_deadlock grid=2 block=32 zero:i4:2
extern "C" __global__ void blocks_deadlock(volatile int* flag) {
    while (flag[1 - blockIdx.x] == 0) {}
    flag[blockIdx.x] = 1;
}

//! launch more_blocks_than_fit grid=20000 block=64 zero:i4:1
extern "C" __global__ void more_blocks_than_fit(int* count) {
    if (threadIdx.x == 0) {
        atomicAdd(count, 1);
        while (atomicAdd(count, 0) < gridDim.x) {}
    }
    __syncthreads();
}

//! launch plain_flag_in_block grid=1 block=64 zero:i4:1 out:i4:64
//! check (a1 == 1).all()
extern "C" __global__ void plain_flag_in_block(int* flag, int* y) {
    if (threadIdx.x == 40) *flag = 1;
    while (*flag == 0) {}
    y[threadIdx.x] = 1;
}

// What the driver refuses, and what a launch can't get.

//! launch touch grid=2 block=32 zero:i4:2
//! check (a0 == 1).all()
//! launch launch_block_1025 kernel=touch grid=2 block=1025 zero:i4:2
//! launch launch_block_z_65 kernel=touch grid=2 block=1,1,65 zero:i4:2
//! launch launch_grid_y_65536 kernel=touch grid=1,65536 block=32 zero:i4:2
//! launch launch_grid_0 kernel=touch grid=0 block=32 zero:i4:2
//! launch launch_block_0 kernel=touch grid=1 block=0 zero:i4:2
//! launch launch_shared_49153 kernel=touch grid=2 block=32 shared=49153 zero:i4:2
//! launch launch_shared_optin kernel=touch grid=2 block=32 shared=65536 optin=65536 zero:i4:2
//! check (a0 == 1).all()
//! launch launch_shared_232449 kernel=touch grid=2 block=32 shared=232449 optin=232449 zero:i4:2
//! launch launch_cooperative_20000 kernel=touch grid=20000 block=64 cooperative=1 zero:i4:20000
extern "C" __global__ void touch(int* y) { y[blockIdx.x] = 1; }

//! launch launch_registers grid=1 block=1024 in:f4:128 zero:f4:1024
extern "C" __global__ void launch_registers(const volatile float* x, float* y) {
    float v[120];
#pragma unroll
    for (int k = 0; k < 120; ++k) v[k] = x[k];
    float s = x[0];
#pragma unroll
    for (int k = 119; k >= 0; --k) s = s * v[k] + x[k];
    y[threadIdx.x] = s;
}

__device__ __noinline__ int deep(int n, volatile int* x) {
    int keep[64];
    for (int k = 0; k < 64; ++k) keep[k] = x[k & 1];
    return n == 0 ? keep[x[0] & 63] : deep(n - 1, x) + keep[n & 63];
}
//! launch stack_overflow grid=1 block=32 zero:i4:2 out:i4:32 100000
extern "C" __global__ void stack_overflow(int* x, int* y, int n) { y[threadIdx.x] = deep(n, x); }
