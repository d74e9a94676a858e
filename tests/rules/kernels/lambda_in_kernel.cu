__global__ void row_norm(const float* x, float* y, int cols) {
    __shared__ float sh[32];
    auto reduce = [&](float v) {
        #pragma unroll
        for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(0xffffffff, v, o);
        __syncthreads();
        if ((threadIdx.x & 31) == 0) sh[threadIdx.x >> 5] = v;
        __syncthreads();
        float t = 0.f;
        for (int w = 0; w < (blockDim.x >> 5); ++w) t += sh[w];
        return t;
    };
    float s = 0.f;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) s += x[blockIdx.x * cols + c];
    float mean = reduce(s) / cols;
    float q = 0.f;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) { float d = x[blockIdx.x * cols + c] - mean; q += d * d; }
    float rstd = rsqrtf(reduce(q) / cols + 1e-5f);
    for (int c = threadIdx.x; c < cols; c += blockDim.x) y[blockIdx.x * cols + c] = (x[blockIdx.x * cols + c] - mean) * rstd;
}
torch::Tensor run(torch::Tensor x) {
    x = x.contiguous();
    auto y = torch::empty_like(x);
    row_norm<<<x.size(0), 512>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
