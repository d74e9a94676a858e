// Kernels of simulator_speed.py.
#include <cuda_fp16.h>
#define K extern "C" __global__ void

K add(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

K relu_strided(const float* x, float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = fmaxf(x[i], 0.f);
}

K vector4(const float4* a, float4* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { float4 v = a[i];
    v.x *= 2;
    v.y *= 2;
    v.z *= 2;
    v.w *= 2;
    c[i] = v;
    }
}

K column_sum(const float* x, float* y, int n) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0;
    for (int r = 0; r < n; ++r) s += x[r * n + c];
    y[c] = s;
}

K row_sum(const float* x, float* y, int n) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0;
    for (int c = 0; c < n; ++c) s += x[r * n + c];
    y[r] = s;
}

K tree(const float* x, float* y, int n) {
    __shared__ float s[256];
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * 256 + t];
    __syncthreads();
    for (int k = 128; k; k >>= 1) { if (t < k) s[t] += s[t + k];
    __syncthreads();
    } if (t == 0) y[blockIdx.x] = s[0];
}

K softmax(const float* x, float* y, int n) {
    int lane = threadIdx.x & 31, r = blockIdx.x * 8 + threadIdx.x / 32;
    x += r * n;
    y += r * n;
    float m = -INFINITY, s = 0;
    for (int i = lane; i < n; i += 32) m = fmaxf(m, x[i]);
    for (int o = 16; o; o >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, o));
    for (int i = lane; i < n; i += 32) s += expf(x[i] - m);
    for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(~0u, s, o);
    for (int i = lane; i < n; i += 32) y[i] = expf(x[i] - m) / s;
}

K matmul(const float* A, const float* B, float* C, int n) {
    __shared__ float a[16][16], b[16][16];
    int r = blockIdx.y * 16 + threadIdx.y, c = blockIdx.x * 16 + threadIdx.x;
    float s = 0;
    for (int k = 0; k < n; k += 16) { a[threadIdx.y][threadIdx.x] = A[r * n + k + threadIdx.x];
    b[threadIdx.y][threadIdx.x] = B[(k + threadIdx.y) * n + c];
    __syncthreads();
    for (int j = 0; j < 16; ++j) s += a[threadIdx.y][j] * b[j][threadIdx.x];
    __syncthreads();
    } C[r * n + c] = s;
}

K naive_matmul(const float* A, const float* B, float* C, int n) {
    int r = blockIdx.y * 16 + threadIdx.y, c = blockIdx.x * 16 + threadIdx.x;
    float s = 0;
    for (int k = 0; k < n; ++k) s += A[r * n + k] * B[k * n + c];
    C[r * n + c] = s;
}

K conv3(const float* x, const float* w, float* y, int n) {
    int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y;
    float s = 0;
    for (int i = -1; i <= 1; ++i) for (int j = -1; j <= 1; ++j) if (r + i >= 0 && r + i < n && c + j >= 0 && c + j < n) s += x[(r + i) * n + c + j] * w[(i + 1) * 3 + j + 1];
    y[r * n + c] = s;
}

K transpose(const float* x, float* y, int n) {
    __shared__ float t[32][33];
    int cx = blockIdx.x * 32 + threadIdx.x, cy = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) t[threadIdx.y + j][threadIdx.x] = x[(cy + j) * n + cx];
    __syncthreads();
    cx = blockIdx.y * 32 + threadIdx.x;
    cy = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) y[(cy + j) * n + cx] = t[threadIdx.x][threadIdx.y + j];
}

K racing_tree(const float* x, float* y, int n) {
    __shared__ float s[256];
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * 256 + t];
    __syncthreads();
    for (int k = 128; k; k >>= 1) { if (t < k) s[t] += s[t + k];
    } if (t == 0) y[blockIdx.x] = s[0];
}
