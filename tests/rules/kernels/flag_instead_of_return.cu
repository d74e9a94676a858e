__global__ void smooth(const float* x, float* y, int n) {
    __shared__ float s[258];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool live = i < n;
    s[threadIdx.x + 1] = live ? x[i] : 0.f;
    if (threadIdx.x == 0) s[0] = i > 0 ? x[i - 1] : 0.f;
    if (threadIdx.x == blockDim.x - 1) s[blockDim.x + 1] = i + 1 < n ? x[i + 1] : 0.f;
    __syncthreads();
    if (live) y[i] = 0.25f * s[threadIdx.x] + 0.5f * s[threadIdx.x + 1] + 0.25f * s[threadIdx.x + 2];
}
torch::Tensor run(torch::Tensor x) {
    x = x.contiguous();
    auto y = torch::empty_like(x);
    int n = x.numel();
    smooth<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
