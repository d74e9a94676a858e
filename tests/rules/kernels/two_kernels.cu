__global__ void partial_sums(const float* __restrict__ x, float* __restrict__ sums, int64_t cols) {
    __shared__ float s[256];
    float v = 0.f;
    for (int64_t c = threadIdx.x; c < cols; c += 256) v += x[blockIdx.x * cols + c];
    s[threadIdx.x] = v;
    __syncthreads();
    if (threadIdx.x < 128) s[threadIdx.x] += s[threadIdx.x + 128];
    __syncthreads();
    if (threadIdx.x < 64) s[threadIdx.x] += s[threadIdx.x + 64];
    __syncthreads();
    if (threadIdx.x < 32) {
        float t = s[threadIdx.x] + s[threadIdx.x + 32];
        for (int o = 16; o > 0; o >>= 1) t += __shfl_down_sync(0xffffffffu, t, o);
        if (threadIdx.x == 0) sums[blockIdx.x] = t;
    }
}
__global__ void divide(const float* __restrict__ x, const float* __restrict__ sums, float* __restrict__ y, int64_t cols, int64_t n) {
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] / sums[i / cols];
}
torch::Tensor run(torch::Tensor x) {
    x = x.contiguous();
    int64_t rows = x.size(0), cols = x.size(1), n = x.numel();
    auto sums = torch::empty({rows}, x.options());
    auto y = torch::empty_like(x);
    partial_sums<<<rows, 256>>>(x.data_ptr<float>(), sums.data_ptr<float>(), cols);
    divide<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), sums.data_ptr<float>(), y.data_ptr<float>(), cols, n);
    return y;
}
