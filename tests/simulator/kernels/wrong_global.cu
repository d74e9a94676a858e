// Each kernel has one planted defect; `expect:` marks the line that must be named, and the kind.

//! launch past_the_end grid=2 block=64 in:f4:100 out:f4:100
extern "C" __global__ void past_the_end(const float* x, float* y) {
    int i = blockIdx.x * 64 + threadIdx.x;
    float v = x[i];  // expect: out-of-bounds
    y[i] = v;  // expect: out-of-bounds
}

//! launch before_the_start grid=1 block=64 in:f4:64 out:f4:64
extern "C" __global__ void before_the_start(const float* x, float* y) {
    int i = threadIdx.x;
    y[i] = x[i - 1];  // expect: out-of-bounds
}

//! launch off_by_one grid=1 block=32 in:f4:33 out:f4:32 32
extern "C" __global__ void off_by_one(const float* x, float* y, int n) {
    for (int k = threadIdx.x; k <= n; k += 32) y[k] = x[k];  // expect: out-of-bounds
}

//! launch misaligned_vector grid=1 block=16 in:f4:68 out:f4:64
extern "C" __global__ void misaligned_vector(const float* x, float* y) {
    float4 v = *(const float4*)(x + 1 + 4 * threadIdx.x);  // expect: misaligned
    y[4 * threadIdx.x] = v.x;
    y[4 * threadIdx.x + 1] = v.y;
    y[4 * threadIdx.x + 2] = v.z;
    y[4 * threadIdx.x + 3] = v.w;
}

//! launch index_overflow grid=1 block=32 in:f4:32 out:f4:32 65536
extern "C" __global__ void index_overflow(const float* x, float* y, int n) {
    int i = threadIdx.x + n * (n / 2 + 1);
    y[threadIdx.x] = x[i];  // expect: out-of-bounds
}

//! launch unwritten_output grid=1 block=64 in:f4:64 out:f4:64
extern "C" __global__ void unwritten_output(const float* x, float* y) {
    y[threadIdx.x] += x[threadIdx.x];  // expect: uninit-global-read
}

//! launch unwritten_atomic grid=1 block=64 in:f4:64 out:f4:1
extern "C" __global__ void unwritten_atomic(const float* x, float* y) {
    atomicAdd(y, x[threadIdx.x]);  // expect: uninit-global-read
}

//! launch input_written grid=1 block=64 in:f4:64 out:f4:64
extern "C" __global__ void input_written(float* x, float* y) {
    float v = x[threadIdx.x];
    x[threadIdx.x] = v * 2;  // expect: input-written
    y[threadIdx.x] = v;
}

//! launch null_pointer grid=1 block=32 out:f4:32 0
extern "C" __global__ void null_pointer(float* y, const float* p) {
    y[threadIdx.x] = p[threadIdx.x];  // expect: out-of-bounds
}

//! launch block_race grid=1 block=64 zero:f4:64 out:f4:64
extern "C" __global__ void block_race(float* tmp, float* y) {
    tmp[threadIdx.x] = threadIdx.x;  // may: global-race
    y[threadIdx.x] = tmp[63 - threadIdx.x];  // expect: global-race
}

//! launch missing_atomic grid=4 block=64 in:f4:256 zero:f4:1
extern "C" __global__ void missing_atomic(const float* x, float* y) {
    y[0] += x[blockIdx.x * 64 + threadIdx.x];  // expect: global-race
}

//! launch missing_atomic_between_blocks grid=4 block=64 in:f4:256 zero:f4:1
extern "C" __global__ void missing_atomic_between_blocks(const float* x, float* y) {
    float v = x[blockIdx.x * 64 + threadIdx.x];
    for (int o = 16; o; o >>= 1) v += __shfl_down_sync(~0u, v, o);
    if (threadIdx.x == 0) y[0] += v;  // expect: global-race
}

//! launch overlapping_blocks grid=4 block=64 in:f4:256 out:f4:160
extern "C" __global__ void overlapping_blocks(const float* x, float* y) {
    y[blockIdx.x * 32 + threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];  // expect: global-race
}
