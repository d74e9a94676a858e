// Kernels that misuse barrier objects, each with one planted defect.
#include <cuda/barrier>
#include <utility>
#pragma nv_diag_suppress static_var_with_dynamic_init

//! launch reads_before_wait grid=1 block=64 in:f4:64 out:f4:64
extern "C" __global__ void reads_before_wait(const float* x, float* y) {
    __shared__ float s[64];
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    s[threadIdx.x] = x[threadIdx.x];  // expect: race
    auto token = bar.arrive();
    y[threadIdx.x] = s[63 - threadIdx.x];  // may: race uninit-shared-read
    bar.wait(std::move(token));
}

//! launch one_too_many grid=1 block=32 out:f4:32 status=livelock
extern "C" __global__ void one_too_many(float* y) {
    __shared__ unsigned long long object;
    unsigned at = (unsigned)__cvta_generic_to_shared(&object);
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 33;" ::"r"(at) : "memory");
    __syncwarp();
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(at) : "memory");
    unsigned done = 0;
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], 0; selp.b32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(at) : "memory");  // expect: livelock
    y[threadIdx.x] = 1;
}

//! launch never_made grid=1 block=32 out:f4:32
extern "C" __global__ void never_made(float* y) {
    __shared__ unsigned long long object;
    unsigned at = (unsigned)__cvta_generic_to_shared(&object);
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(at) : "memory");  // expect: uninit-shared-read
    y[threadIdx.x] = 1;
}
