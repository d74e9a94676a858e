__constant__ float scale;

extern "C" __global__ void add(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

extern "C" __global__ void scaled(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= scale;
}

extern "C" __global__ void ones(float* x) { x[threadIdx.x] = 1.0f; }

extern "C" __global__ void dynamic(float* x) {
    __shared__ float fixed[256];
    extern __shared__ float rest[];
    fixed[threadIdx.x % 256] = 1.0f;
    rest[threadIdx.x] = 2.0f;
    __syncthreads();
    x[threadIdx.x] = fixed[threadIdx.x % 256] + rest[threadIdx.x];
}

extern "C" __global__ void __launch_bounds__(128) bounded(float* x) { x[threadIdx.x] = 1.0f; }

extern "C" __global__ void deadlock(float* x) {
    if (threadIdx.x % 2) {
        while (__shfl_sync(0xffffffffu, 1, 0)) x[0] = 1.0f;
    }
    __syncthreads();
}

extern "C" __global__ void offset(float* x, long long by) { x[threadIdx.x + by] = 1.0f; }

extern "C" __global__ void rows(float* x, int columns) {
    int i = blockIdx.x * columns + threadIdx.x;
    x[i] = 1.0f;
}
