// Each kernel has one planted defect; `expect:` marks the line that must be named, and the kind.

//! launch missing_barrier grid=1 block=256 in:f4:256 out:f4:1
extern "C" __global__ void missing_barrier(const float* x, float* y) {
    __shared__ float s[256];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    for (int k = 128; k > 0; k >>= 1)
        if (t < k) s[t] += s[t + k];  // expect: race
    if (t == 0) y[0] = s[0];
}

//! launch no_barrier_after_fill grid=1 block=128 in:f4:128 out:f4:128
extern "C" __global__ void no_barrier_after_fill(const float* x, float* y) {
    __shared__ float s[128];
    s[threadIdx.x] = x[threadIdx.x];  // may: race
    y[threadIdx.x] = s[127 - threadIdx.x];  // expect: race
}

//! launch no_second_barrier grid=1 block=16,16 in:f4:1024 in:f4:1024 out:f4:256 64
extern "C" __global__ void no_second_barrier(const float* A, const float* B, float* C, int n) {
    __shared__ float a[16][16], b[16][16];
    float s = 0;
    for (int k = 0; k < n; k += 16) {
        a[threadIdx.y][threadIdx.x] = A[threadIdx.y * n + k + threadIdx.x];  // expect: race
        b[threadIdx.y][threadIdx.x] = B[(k + threadIdx.y) * 16 + threadIdx.x];  // expect: race
        __syncthreads();
        for (int j = 0; j < 16; ++j) s += a[threadIdx.y][j] * b[j][threadIdx.x];  // may: race
    }
    C[threadIdx.y * 16 + threadIdx.x] = s;
}

//! launch volatile_warp grid=1 block=32 in:f4:64 out:f4:1
extern "C" __global__ void volatile_warp(const float* x, float* y) {
    __shared__ volatile float s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    s[t + 32] = x[t + 32];
    __syncwarp();
    s[t] += s[t + 32];  // may: race-volatile
    s[t] += s[t + 16];  // expect: race-volatile
    s[t] += s[t + 8];  // expect: race-volatile
    if (t == 0) y[0] = s[0];  // may: race-volatile
}

//! launch broadcast_race grid=1 block=64 in:f4:64 out:f4:64
extern "C" __global__ void broadcast_race(const float* x, float* y) {
    __shared__ float m;
    if (threadIdx.x == 0) m = x[0];  // expect: race
    y[threadIdx.x] = x[threadIdx.x] + m;  // may: race
}

//! launch write_write grid=1 block=64 in:f4:64 out:f4:1
extern "C" __global__ void write_write(const float* x, float* y) {
    __shared__ float m;
    m = x[threadIdx.x];  // expect: race
    __syncthreads();
    if (threadIdx.x == 0) y[0] = m;
}

//! launch plain_sum grid=1 block=64 in:f4:64 out:f4:1
extern "C" __global__ void plain_sum(const float* x, float* y) {
    __shared__ float m;
    if (threadIdx.x == 0) m = 0;
    __syncthreads();
    m += x[threadIdx.x];  // expect: race
    __syncthreads();
    if (threadIdx.x == 0) y[0] = m;
}

//! launch plain_then_atomic grid=1 block=64 out:i4:1
extern "C" __global__ void plain_then_atomic(int* y) {
    __shared__ int n;
    if (threadIdx.x == 0) n = 0;  // may: race
    atomicAdd(&n, 1);  // expect: race // may: uninit-shared-read
    __syncthreads();
    if (threadIdx.x == 0) y[0] = n;
}

//! launch atomic_then_read grid=1 block=64 out:i4:64
extern "C" __global__ void atomic_then_read(int* y) {
    __shared__ int n;
    if (threadIdx.x == 0) n = 0;
    __syncthreads();
    atomicAdd(&n, 1);  // may: race
    y[threadIdx.x] = n;  // expect: race
}

//! launch reuse_without_barrier grid=1 block=128 in:f4:128 out:f4:128
extern "C" __global__ void reuse_without_barrier(const float* x, float* y) {
    __shared__ float s[128];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    float v = s[(threadIdx.x + 32) % 128];  // may: race
    s[threadIdx.x] = v * 2;  // expect: race
    __syncthreads();
    y[threadIdx.x] = s[threadIdx.x];
}

//! launch unwritten_tail grid=1 block=200 in:f4:200 out:f4:1
extern "C" __global__ void unwritten_tail(const float* x, float* y) {
    __shared__ float s[256];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    for (int k = 128; k > 0; k >>= 1) {
        if (t < k) s[t] += s[t + k];  // expect: uninit-shared-read
        __syncthreads();
    }
    if (t == 0) y[0] = s[0];
}

//! launch unwritten_partials grid=1 block=64 in:f4:64 out:f4:1
extern "C" __global__ void unwritten_partials(const float* x, float* y) {
    __shared__ float s[32];
    float v = x[threadIdx.x];
    for (int o = 16; o; o >>= 1) v += __shfl_down_sync(~0u, v, o);
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x < 32) {
        v = s[threadIdx.x];  // expect: uninit-shared-read
        for (int o = 16; o; o >>= 1) v += __shfl_down_sync(~0u, v, o);
        if (threadIdx.x == 0) y[0] = v;
    }
}

//! launch unwritten_index grid=1 block=32 in:f4:32 out:f4:32
extern "C" __global__ void unwritten_index(const float* x, float* y) {
    __shared__ int at[32];
    if (threadIdx.x < 16) at[threadIdx.x] = threadIdx.x;
    __syncthreads();
    y[threadIdx.x] = x[at[threadIdx.x] & 31];  // expect: uninit-shared-read
}

//! launch unwritten_branch grid=1 block=32 out:f4:32 9
extern "C" __global__ void unwritten_branch(float* y, int n) {
    __shared__ int flag;
    if (threadIdx.x == 40) flag = n;
    __syncthreads();
    y[threadIdx.x] = 0;
    if (flag > 3) {  // expect: uninit-shared-read
        for (int k = 0; k < flag; ++k) y[threadIdx.x] += k;  // may: uninit-shared-read
    }
}

//! launch shared_overrun grid=1 block=128 in:f4:128 out:f4:128
extern "C" __global__ void shared_overrun(const float* x, float* y) {
    __shared__ float s[64];
    s[threadIdx.x] = x[threadIdx.x];  // expect: shared-out-of-bounds
    __syncthreads();
    y[threadIdx.x] = s[threadIdx.x & 63];
}

//! launch shared_underrun grid=1 block=64 in:f4:64 out:f4:64
extern "C" __global__ void shared_underrun(const float* x, float* y) {
    __shared__ float s[64];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = s[int(threadIdx.x) - 1];  // expect: shared-out-of-bounds
}

//! launch dynamic_too_small grid=1 block=64 shared=128 in:f4:64 out:f4:64
extern "C" __global__ void dynamic_too_small(const float* x, float* y) {
    extern __shared__ float d[];
    d[threadIdx.x] = x[threadIdx.x];  // expect: shared-out-of-bounds
    __syncthreads();
    y[threadIdx.x] = d[threadIdx.x & 31];
}

//! launch async_without_wait grid=1 block=64 in:f4:64 out:f4:64
extern "C" __global__ void async_without_wait(const float* x, float* y) {
    __shared__ float s[64];
    unsigned to = (unsigned)__cvta_generic_to_shared(&s[threadIdx.x]);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(x + threadIdx.x) : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
    __syncthreads();
    y[threadIdx.x] = s[63 - threadIdx.x];  // expect: uninit-shared-read
}

// A race that does no harm on a GPU: every warp has read m[0] long before warp 0 has its next sum.
//! launch overwritten_after_all_read grid=1 block=256 in:f4:512 out:f4:256
//! check np.allclose(a1, a0.max() + (a0[:256] + a0[256:] - 2 * a0.max()).sum() / 512, rtol=1e-4)
extern "C" __global__ void overwritten_after_all_read(const float* x, float* y) {
    __shared__ float m[256];
    const int t = threadIdx.x;
    m[t] = fmaxf(x[t], x[t + 256]);
    __syncthreads();
    for (int s = 128; s > 0; s /= 2) {
        if (t < s) m[t] = fmaxf(m[t], m[t + s]);
        __syncthreads();
    }
    const float most = m[0];  // may: race
    float sum = 0;
    for (int i = t; i < 512; i += 256) sum += x[i] - most;
    m[t] = sum;  // expect: race
    __syncthreads();
    for (int s = 128; s > 0; s /= 2) {
        if (t < s) m[t] += m[t + s];
        __syncthreads();
    }
    y[t] = most + m[0] / 512;
}

// One that does: some warp has its element of global memory before another has.
//! launch read_before_all_wrote grid=1 block=256 in:f4:256 out:f4:256
//! check not np.array_equal(a1, a0[::-1])
extern "C" __global__ void read_before_all_wrote(const float* x, float* y) {
    __shared__ float m[256];
    m[threadIdx.x] = x[threadIdx.x];  // may: race
    y[threadIdx.x] = m[255 - threadIdx.x];  // expect: race // may: uninit-shared-read
}
