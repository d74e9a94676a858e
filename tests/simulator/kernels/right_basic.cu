// Right kernels: no finding is allowed. Syntax of the comments: see test_kernels.py.

//! launch add grid=5 block=256 in:f4:1200 in:f4:1200 out:f4:1200 1200
//! check np.array_equal(a2, a0 + a1)
extern "C" __global__ void add(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

//! launch grid_stride grid=3 block=64 in:f4:1000 out:f4:1000 1000
//! check np.allclose(a1, np.maximum(a0, 0) * 2 + 1)
extern "C" __global__ void grid_stride(const float* x, float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = fmaxf(x[i], 0.f) * 2.f + 1.f;
}

//! launch early_return grid=4 block=128 in:f4:500 out:f4:500 500
//! check np.array_equal(a1, -a0)
extern "C" __global__ void early_return(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    y[i] = -x[i];
}

//! launch vector4 grid=2 block=64 in:f4:512 out:f4:512 128
//! check np.allclose(a1, a0 * 3)
extern "C" __global__ void vector4(const float4* x, float4* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float4 v = x[i];
        v.x *= 3; v.y *= 3; v.z *= 3; v.w *= 3;
        y[i] = v;
    }
}

//! launch transpose grid=4,4 block=32,8 in:f4:16384 out:f4:16384 128
//! check np.array_equal(a1.reshape(128, 128), a0.reshape(128, 128).T)
extern "C" __global__ void transpose(const float* x, float* y, int n) {
    __shared__ float tile[32][33];
    int cx = blockIdx.x * 32 + threadIdx.x, cy = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) tile[threadIdx.y + j][threadIdx.x] = x[(cy + j) * n + cx];
    __syncthreads();
    cx = blockIdx.y * 32 + threadIdx.x;
    cy = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) y[(cy + j) * n + cx] = tile[threadIdx.x][threadIdx.y + j];
}

//! launch matmul grid=4,4 block=16,16 in:f4:4096 in:f4:4096 out:f4:4096 64
//! check np.allclose(a2.reshape(64, 64), a0.reshape(64, 64) @ a1.reshape(64, 64), atol=1e-4)
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n) {
    __shared__ float a[16][16], b[16][16];
    int r = blockIdx.y * 16 + threadIdx.y, c = blockIdx.x * 16 + threadIdx.x;
    float s = 0;
    for (int k = 0; k < n; k += 16) {
        a[threadIdx.y][threadIdx.x] = A[r * n + k + threadIdx.x];
        b[threadIdx.y][threadIdx.x] = B[(k + threadIdx.y) * n + c];
        __syncthreads();
        for (int j = 0; j < 16; ++j) s += a[threadIdx.y][j] * b[j][threadIdx.x];
        __syncthreads();
    }
    C[r * n + c] = s;
}

//! launch double_buffer grid=1 block=128 in:f4:1024 out:f4:128 8
//! check np.allclose(a1, np.roll(a0.reshape(8, 128), -1, axis=1).sum(0), atol=1e-5)
extern "C" __global__ void double_buffer(const float* x, float* y, int tiles) {
    __shared__ float buf[2][128];
    int t = threadIdx.x;
    float s = 0;
    buf[0][t] = x[t];
    __syncthreads();
    for (int k = 0; k < tiles; ++k) {
        if (k + 1 < tiles) buf[(k + 1) & 1][t] = x[(k + 1) * 128 + t];
        s += buf[k & 1][(t + 1) & 127];
        __syncthreads();
    }
    y[t] = s;
}

//! launch conv2d grid=4,4 block=8,8 in:f4:1024 in:f4:9 out:f4:1024 32
extern "C" __global__ void conv2d(const float* __restrict__ x, const float* __restrict__ w, float* y, int n) {
    int c = blockIdx.x * 8 + threadIdx.x, r = blockIdx.y * 8 + threadIdx.y;
    float s = 0;
    for (int i = -1; i <= 1; ++i)
        for (int j = -1; j <= 1; ++j)
            if (r + i >= 0 && r + i < n && c + j >= 0 && c + j < n) s += __ldg(x + (r + i) * n + c + j) * w[(i + 1) * 3 + j + 1];
    y[r * n + c] = s;
}

__constant__ float weights[4] = {1.f, 2.f, 3.f, 4.f};
//! launch constant_memory grid=1 block=64 in:f4:64 out:f4:64
//! check np.allclose(a1, a0 * (np.arange(64) % 4 + 1))
extern "C" __global__ void constant_memory(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x] * weights[threadIdx.x & 3]; }

__device__ __noinline__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
//! launch recursion grid=1 block=40 out:i4:40
//! check a0[11] == 89 and a0[38] == a0[2]
extern "C" __global__ void recursion(int* y) { y[threadIdx.x] = fib(threadIdx.x % 12 % 12 + (threadIdx.x >= 36 ? 0 : 0)); }

__device__ __noinline__ float twice(float x) { return x * 2; }
__device__ __noinline__ float square(float x) { return x * x; }
//! launch function_pointer grid=1 block=64 in:f4:64 out:f4:64
//! check np.allclose(a1, np.where(np.arange(64) % 2, a0 * a0, a0 * 2))
extern "C" __global__ void function_pointer(const float* x, float* y) {
    float (*f)(float) = threadIdx.x & 1 ? square : twice;
    y[threadIdx.x] = f(x[threadIdx.x]);
}

//! launch switch_case grid=1 block=64 in:i4:64 out:i4:64
extern "C" __global__ void switch_case(const int* x, int* y) {
    int v = x[threadIdx.x], r;
    switch (v & 7) {
        case 0: r = v * 3; break;
        case 1: r = v + 7; break;
        case 2: r = v / 3; break;
        case 3: r = v % 5; break;
        case 4: r = v ^ 0x55; break;
        case 5: r = __popc(v); break;
        case 6: r = __clz(v); break;
        default: r = -v;
    }
    y[threadIdx.x] = r;
}

//! launch local_array grid=1 block=32 in:f4:256 out:f4:32 3
//! check np.array_equal(a1, a0.reshape(32, 8)[:, 3])
extern "C" __global__ void local_array(const float* x, float* y, int k) {
    float v[8];
    for (int j = 0; j < 8; ++j) v[j] = x[threadIdx.x * 8 + j];
    y[threadIdx.x] = v[k & 7];
}

//! launch speculated grid=1 block=64 in:f4:64 out:f4:64
//! check np.allclose(a1, np.where(np.arange(64) == 40, a0[9], 0))
extern "C" __global__ void speculated(const float* x, float* y) {
    __shared__ float s[64];
    if (threadIdx.x == 9) s[9] = x[9];
    __syncthreads();
    float v = threadIdx.x == 40 ? s[9] : 0.f, w = threadIdx.x < 0 ? s[11] : 0.f;
    y[threadIdx.x] = v + w;
}

struct Shape { int n; float scale; long long stride; };
//! launch struct_parameter grid=1 block=64 in:f4:64 out:f4:64 hex:40000000000000400200000000000000
//! check np.allclose(a1, a0 * 2 + 2)
extern "C" __global__ void struct_parameter(const float* x, float* y, Shape s) {
    if (threadIdx.x < s.n) y[threadIdx.x] = x[threadIdx.x] * s.scale + float(s.stride);
}

//! launch doubles grid=1 block=64 in:f8:64 out:f8:64
//! check np.allclose(a1, np.exp(a0) / (1 + a0 * a0))
extern "C" __global__ void doubles(const double* x, double* y) { double v = x[threadIdx.x]; y[threadIdx.x] = exp(v) / (1 + v * v); }

//! launch math grid=1 block=256 in:f4:256 out:f4:256
//! check np.allclose(a1, np.tanh(a0) + np.sin(a0 * 100) + np.abs(a0) ** 1.5 + np.log1p(np.abs(a0)), atol=1e-4)
extern "C" __global__ void math(const float* x, float* y) {
    float v = x[threadIdx.x];
    y[threadIdx.x] = tanhf(v) + sinf(v * 100) + powf(fabsf(v), 1.5f) + log1pf(fabsf(v));
}

//! launch wide_index grid=2 block=32 in:f4:64 out:f4:64 64
//! check np.array_equal(a1, a0[::-1])
extern "C" __global__ void wide_index(const float* x, float* y, long long n) {
    size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    y[n - 1 - i] = x[i];
}

//! launch same_value_global grid=4 block=64 in:f4:64 out:f4:1 5
//! check a1[0] == 5
extern "C" __global__ void same_value_global(const float* x, float* y, int n) { if (x[threadIdx.x] < 100.f) y[0] = n; }  // expect: same-value-race

//! launch same_value_shared grid=1 block=64 in:f4:64 out:f4:64 5
//! check np.allclose(a1, a0 + 5)
extern "C" __global__ void same_value_shared(const float* x, float* y, int n) {
    __shared__ int five;
    if (x[threadIdx.x] < 100.f) five = n;  // expect: same-value-race
    __syncthreads();
    y[threadIdx.x] = x[threadIdx.x] + five;
}

//! launch in_place grid=4 block=64 zero:f4:256
//! check np.array_equal(a0, np.arange(256) + 1)
extern "C" __global__ void in_place(float* y) {
    int i = blockIdx.x * 64 + threadIdx.x;
    y[i] = i;
    y[i] += 1;
}

//! launch half_outputs grid=2 block=64 in:f4:128 out:u2:128
extern "C" __global__ void half_outputs(const float* x, unsigned short* y) {
    int i = blockIdx.x * 64 + threadIdx.x;
    y[i] = (unsigned short)(int)x[i];
}

//! launch scratch_in_block grid=2 block=64 in:f4:128 zero:f4:128 out:f4:128
//! check np.array_equal(a2.reshape(2, 64), a0.reshape(2, 64)[:, ::-1])
extern "C" __global__ void scratch_in_block(const float* x, float* tmp, float* y) {
    int i = blockIdx.x * 64 + threadIdx.x;
    tmp[i] = x[i];
    __syncthreads();
    y[i] = tmp[blockIdx.x * 64 + 63 - threadIdx.x];
}

//! launch set_where_used grid=1 block=64 in:i4:64 out:i4:64
//! check (a1 == np.where(a0 & 1, a0 * 3, -1)).all()
__global__ void set_where_used(const int* x, int* y) {
    int place;
    const bool odd = x[threadIdx.x] & 1;
    if (odd) place = x[threadIdx.x] * 3;
    __syncwarp();
    y[threadIdx.x] = odd ? place : -1;
}

//! launch set_in_the_first_turn grid=1 block=64 in:f4:64 out:f4:64
//! check (a1 == np.max([np.roll(a0, -k) for k in range(4)], axis=0)).all()
__global__ void set_in_the_first_turn(const float* x, float* y) {
    float most;
    for (int k = 0; k < 4; ++k) {
        const float v = x[(threadIdx.x + k) & 63];
        most = k == 0 || v > most ? v : most;
    }
    y[threadIdx.x] = most;
}
