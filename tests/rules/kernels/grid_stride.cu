__global__ void gelu(const float* __restrict__ x, float* __restrict__ y, int64_t n) {
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (int64_t)blockDim.x * gridDim.x) {
        float v = x[i];
        y[i] = 0.5f * v * (1.0f + erff(v * 0.70710678f));
    }
}
torch::Tensor run(torch::Tensor x_in) {
    auto x = x_in.contiguous();
    auto y = torch::empty_like(x);
    const int threads = 256;
    const int64_t n = x.numel();
    const int blocks = std::min<int64_t>((n + threads - 1) / threads, 4096);
    gelu<<<blocks, threads>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
