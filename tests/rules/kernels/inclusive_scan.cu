__global__ void scan_rows(const float* x, float* y, int cols) {
    __shared__ float s[1024];
    int t = threadIdx.x;
    float carry = 0.f;
    for (int base = 0; base < cols; base += blockDim.x) {
        s[t] = base + t < cols ? x[(size_t)blockIdx.x * cols + base + t] : 0.f;
        __syncthreads();
        for (int d = 1; d < blockDim.x; d <<= 1) {
            float v = t >= d ? s[t - d] : 0.f;
            __syncthreads();
            s[t] += v;
            __syncthreads();
        }
        if (base + t < cols) y[(size_t)blockIdx.x * cols + base + t] = carry + s[t];
        carry += s[blockDim.x - 1];
        __syncthreads();
    }
}
torch::Tensor run(torch::Tensor x) {
    x = x.contiguous();
    auto y = torch::empty_like(x);
    scan_rows<<<x.size(0), 1024>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
