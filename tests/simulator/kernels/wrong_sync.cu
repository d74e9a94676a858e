// Each kernel has one planted defect; `expect:` marks the line that must be named, and the kind.

//! launch barrier_in_branch grid=1 block=64 in:f4:64 out:f4:64 status=ok
extern "C" __global__ void barrier_in_branch(const float* x, float* y) {
    if (threadIdx.x < 20) {
        y[threadIdx.x] = x[threadIdx.x];
        __syncthreads();  // expect: barrier-divergence
    } else {
        y[threadIdx.x] = 1;
        __syncthreads();  // may: barrier-divergence
    }
}

//! launch exited_before_barrier grid=1 block=64 in:f4:64 out:f4:64 50 status=ok
extern "C" __global__ void exited_before_barrier(const float* x, float* y, int n) {
    __shared__ float s[64];
    y[threadIdx.x] = 0;
    if (threadIdx.x >= n) return;
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();  // expect: barrier-exited
    y[threadIdx.x] = s[n - 1 - threadIdx.x];
}

//! launch unequal_trips grid=1 block=64 out:f4:64 status=ok
extern "C" __global__ void unequal_trips(float* y) {
    for (int k = 0; k < threadIdx.x / 32 + 1; ++k) {
        y[threadIdx.x] = k;
        __syncthreads();  // expect: barrier-exited
    }
}

//! launch shuffle_in_branch grid=1 block=256 in:f4:256 out:f4:1 status=deadlock
extern "C" __global__ void shuffle_in_branch(const float* x, float* y) {
    __shared__ float s[8];
    float v = x[threadIdx.x];
    if (threadIdx.x < 8) {
        s[threadIdx.x] = v;
        v = s[threadIdx.x];
        for (int o = 4; o; o >>= 1) v += __shfl_down_sync(0xffffffffu, v, o);  // expect: deadlock
        if (threadIdx.x == 0) y[0] = v;
    }
    __syncthreads();  // expect: deadlock
    if (threadIdx.x == 1) y[0] += 1;
}

//! launch shuffle_after_exit grid=1 block=32 in:f4:32 out:f4:32 20 status=ok
extern "C" __global__ void shuffle_after_exit(const float* x, float* y, int n) {
    y[threadIdx.x] = 0;
    if (threadIdx.x >= n) return;
    float v = x[threadIdx.x];
    v += __shfl_xor_sync(0xffffffffu, v, 16);  // expect: sync-exited-lanes shuffle-absent-lane
    y[threadIdx.x] = v;
}

//! launch shuffle_outside_mask grid=1 block=32 in:f4:32 out:f4:32 status=ok
extern "C" __global__ void shuffle_outside_mask(const float* x, float* y) {
    float v = x[threadIdx.x], w = 0;
    if (threadIdx.x < 16) w = __shfl_down_sync(0x0000ffffu, v, 8);  // expect: shuffle-absent-lane
    y[threadIdx.x] = w;
}

//! launch not_in_own_mask grid=1 block=32 in:f4:32 out:f4:32 status=ok
extern "C" __global__ void not_in_own_mask(const float* x, float* y) {
    float v = x[threadIdx.x];
    y[threadIdx.x] = __shfl_sync(0x0000ffffu, v, 0);  // expect: sync-lane-not-in-mask
}

//! launch short_block grid=1 block=16 in:f4:16 out:f4:1 status=ok
extern "C" __global__ void short_block(const float* x, float* y) {
    float v = x[threadIdx.x];
    for (int o = 16; o; o >>= 1) v += __shfl_down_sync(0xffffffffu, v, o);  // expect: shuffle-absent-lane
    if (threadIdx.x == 0) y[0] = v;
}

//! launch infinite_spin grid=1 block=32 zero:i4:1 status=livelock
extern "C" __global__ void infinite_spin(volatile int* flag) {
    while (*flag == 0) {}  // expect: livelock
}

//! launch waits_for_block grid=2 block=32 zero:i4:2 status=livelock
extern "C" __global__ void waits_for_block(volatile int* flag) {
    while (flag[1 - blockIdx.x] == 0) {}  // expect: grid-deadlock
    flag[blockIdx.x] = 1;
}

//! launch endless grid=1 block=32 out:i4:1 status=budget
extern "C" __global__ void endless(volatile int* y) {
    unsigned long long k = 1;
    while (k != 0) { k = k * 6364136223846793005ull + 2; *y = int(k); }
}

//! launch named_barrier_short grid=1 block=64 out:i4:64 status=deadlock
extern "C" __global__ void named_barrier_short(int* y) {
    y[threadIdx.x] = 1;
    if (threadIdx.x < 32) asm volatile("bar.sync 1, 64;" ::: "memory");  // expect: deadlock
}

//! launch failing_assert grid=1 block=32 in:f4:32 out:f4:32 status=trapped
extern "C" __global__ void failing_assert(const float* x, float* y) {
    y[threadIdx.x] = x[threadIdx.x];
    if (x[threadIdx.x] < 100.f) __trap();  // expect: trap
}

//! launch uninit_local grid=1 block=32 in:i4:32 out:f4:32 status=ok
extern "C" __global__ void uninit_local(const int* x, float* y) {
    float v[16];
    for (int k = 0; k < 4; ++k) v[x[k] & 15] = x[k];
    y[threadIdx.x] = v[x[threadIdx.x] & 15];  // expect: uninit-local-read
}
