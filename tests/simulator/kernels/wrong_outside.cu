// What reads outside give: a NaN in floats, neither a zero nor an index in integers, and nobody's value.
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda_pipeline_primitives.h>
#include <mma.h>

//! launch outside_float grid=1 block=64 in:f4:40 out:f4:64
//! check (a1[:40] == a0).all() and np.isnan(a1[40:]).all()
__global__ void outside_float(const float* x, float* y) {
    y[threadIdx.x] = x[threadIdx.x];  // expect: out-of-bounds
}

//! launch outside_double grid=1 block=32 in:f8:20 out:f8:32
//! check (a1[:20] == a0).all() and np.isnan(a1[20:]).all()
__global__ void outside_double(const double* x, double* y) {
    y[threadIdx.x] = x[threadIdx.x];  // expect: out-of-bounds
}

//! launch outside_half grid=1 block=32 in:f2:20 out:f2:32
//! check (a1[:20] == a0).all() and np.isnan(a1[20:]).all()
__global__ void outside_half(const __half* x, __half* y) {
    y[threadIdx.x] = x[threadIdx.x];  // expect: out-of-bounds
}

//! launch outside_bfloat grid=1 block=32 in:u2:20 out:f4:32
//! check np.isnan(a1[20:]).all()
__global__ void outside_bfloat(const __nv_bfloat16* x, float* y) {
    y[threadIdx.x] = __bfloat162float(x[threadIdx.x]);  // expect: out-of-bounds
}

//! launch outside_int grid=1 block=32 in:i4:20 out:i4:32
//! check (a1[:20] == a0).all() and (a1[20:] > 1 << 30).all()
__global__ void outside_int(const int* x, int* y) {
    y[threadIdx.x] = x[threadIdx.x];  // expect: out-of-bounds
}

//! launch outside_long grid=1 block=32 in:i8:20 out:i8:32
//! check (a1[:20] == a0).all() and (a1[20:] > 1 << 60).all()
__global__ void outside_long(const long long* x, long long* y) {
    y[threadIdx.x] = x[threadIdx.x];  // expect: out-of-bounds
}

//! launch outside_short grid=1 block=32 in:i2:20 out:i4:32
//! check (a1[:20] == a0).all() and (a1[20:] > 30000).all()
__global__ void outside_short(const short* x, int* y) {
    y[threadIdx.x] = x[threadIdx.x];  // expect: out-of-bounds
}

//! launch outside_bytes grid=1 block=32 in:u1:20 out:u1:32
//! check (a1[:20] == a0).all() and (a1[20:] != 0).all()
__global__ void outside_bytes(const unsigned char* x, unsigned char* y) {
    y[threadIdx.x] = x[threadIdx.x];  // expect: out-of-bounds
}

//! launch outside_vector grid=1 block=8 in:f4:24 out:f4:32
//! check (a1[:24] == a0).all() and np.isnan(a1[24:]).all()
__global__ void outside_vector(const float4* x, float4* y) {
    y[threadIdx.x] = x[threadIdx.x];  // expect: out-of-bounds
}

//! launch outside_shared grid=1 block=32 in:f4:32 out:f4:32
//! check (a1[:24] == a0[8:]).all() and np.isnan(a1[24:]).all()
__global__ void outside_shared(const float* x, float* y) {
    __shared__ float s[32];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = s[threadIdx.x + 8];  // expect: shared-out-of-bounds
}

//! launch outside_shared_neighbour grid=1 block=32 in:f4:32 out:f4:32
//! check (a1[:31] == 2 * a0[1:]).all() and np.isnan(a1[31])
__global__ void outside_shared_neighbour(const float* x, float* y) {
    __shared__ float s[32], t[32];
    s[threadIdx.x] = x[threadIdx.x];
    t[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    float right = s[threadIdx.x + 1];  // expect: shared-out-of-bounds
    float other = t[threadIdx.x + 1];  // expect: shared-out-of-bounds
    y[threadIdx.x] = right + other;
}

//! launch outside_shared_int grid=1 block=32 in:i4:32 out:i4:32
//! check (a1[:31] == a0[1:]).all() and a1[31] > 1 << 30
__global__ void outside_shared_int(const int* x, int* y) {
    __shared__ int s[32];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = s[threadIdx.x + 1];  // expect: shared-out-of-bounds
}

//! launch outside_local grid=1 block=31 in:i4:31 out:f4:31
//! check np.isnan(a1).all()
__global__ void outside_local(const int* x, float* y) {
    float kept[8];
    for (int k = 0; k < 8; ++k) kept[(x[threadIdx.x] + k) & 7] = k;
    float* p = kept + 8;
    asm volatile("" : "+l"(p));
    y[threadIdx.x] = *p + kept[x[threadIdx.x] & 7];  // expect: local-out-of-bounds // may: out-of-bounds
}

//! launch unwritten_local grid=3 block=32 in:i4:32 out:f4:32
//! check np.isnan(a1[~np.isin(a0 & 15, a0[:4] & 15)]).all() and not np.isnan(a1[:4]).any()
__global__ void unwritten_local(const int* x, float* y) {
    float kept[16];
    for (int k = 0; k < 4; ++k) kept[x[k] & 15] = x[k];
    y[threadIdx.x] = kept[x[threadIdx.x] & 15];  // expect: uninit-local-read // may: global-race same-value-race
}

//! launch outside_copy grid=1 block=32 in:f4:20 out:f4:32
//! check (a1[:20] == a0).all() and np.isnan(a1[20:]).all()
__global__ void outside_copy(const float* x, float* y) {
    __shared__ float s[32];
    __pipeline_memcpy_async(&s[threadIdx.x], &x[threadIdx.x], 4);  // expect: out-of-bounds
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    y[threadIdx.x] = s[threadIdx.x];
}

//! launch outside_atomic grid=1 block=32 zero:i4:20 out:i4:32
//! check (a1[:20] == 0).all() and (a1[20:] > 1 << 30).all() and (a0 == 1).all()
__global__ void outside_atomic(int* x, int* y) {
    y[threadIdx.x] = atomicAdd(&x[threadIdx.x], 1);  // expect: out-of-bounds
}

//! launch outside_compare_and_swap grid=1 block=32 zero:f4:20 out:f4:1
//! check (a0 == 1).all()
__global__ void outside_compare_and_swap(float* x, float*) {
    unsigned* p = reinterpret_cast<unsigned*>(x + threadIdx.x);
    unsigned seen = *p, assumed;  // expect: out-of-bounds
    do {
        assumed = seen;
        seen = atomicCAS(p, assumed, __float_as_uint(__uint_as_float(assumed) + 1));  // expect: out-of-bounds
    } while (seen != assumed);
}

//! launch outside_discarded grid=1 block=32 in:f4:20 out:f4:32 20
//! check (a1[:20] == a0).all() and (a1[20:] == 0).all()
__global__ void outside_discarded(const float* x, float* y, int n) {
    float v = x[threadIdx.x];  // expect: out-of-bounds
    y[threadIdx.x] = threadIdx.x < n ? v : 0;
}

//! launch outside_stored grid=1 block=64 in:f4:64 out:f4:40
//! check (a1 == a0[:40]).all()
__global__ void outside_stored(const float* x, float* y) {
    y[threadIdx.x] = x[threadIdx.x];  // expect: out-of-bounds
}

//! launch outside_matrix grid=1 block=32 in:f2:256 out:f4:256
//! check np.isnan(a1[128:]).all() and not np.isnan(a1[:128]).any()
__global__ void outside_matrix(const __half* x, float* y) {
    using namespace nvcuda::wmma;
    __shared__ __half s[16 * 8];
    for (int k = threadIdx.x; k < 16 * 8; k += 32) s[k] = x[k];
    __syncwarp();
    fragment<matrix_a, 16, 16, 16, __half, row_major> a;
    fragment<matrix_b, 16, 16, 16, __half, col_major> b;
    fragment<accumulator, 16, 16, 16, float> c;
    load_matrix_sync(a, s, 16);  // expect: shared-out-of-bounds
    fill_fragment(b, __float2half(1));
    fill_fragment(c, 0.0f);
    mma_sync(c, a, b, c);
    store_matrix_sync(y, c, 16, mem_row_major);
}

//! launch unset_sum grid=2 block=32 in:f4:64 4 out:f4:64
//! check np.isnan(a1).all()
__global__ void unset_sum(const float* x, int n, float* y) {
    float sum;
    for (int k = threadIdx.x & 1; k < n; ++k) sum += x[(threadIdx.x + k) & 63];  // expect: uninit-local-read
    y[blockIdx.x * 32 + threadIdx.x] = sum;
}
