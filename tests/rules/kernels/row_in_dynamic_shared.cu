__global__ void softmax_cached(const float* x, float* y, int cols) {
    extern __shared__ float row[];
    __shared__ float red[8];
    int t = threadIdx.x, lane = t & 31, warp = t >> 5;
    float m = -INFINITY;
    for (int c = t; c < cols; c += blockDim.x) { float v = x[(size_t)blockIdx.x * cols + c]; row[c] = v; m = fmaxf(m, v); }
    for (int o = 16; o > 0; o >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, o));
    if (lane == 0) red[warp] = m;
    __syncthreads();
    m = red[lane & 7];
    for (int o = 4; o > 0; o >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, o));
    __syncthreads();
    float s = 0.f;
    for (int c = t; c < cols; c += blockDim.x) { float e = expf(row[c] - m); row[c] = e; s += e; }
    for (int o = 16; o > 0; o >>= 1) s += __shfl_xor_sync(~0u, s, o);
    if (lane == 0) red[warp] = s;
    __syncthreads();
    s = red[lane & 7];
    for (int o = 4; o > 0; o >>= 1) s += __shfl_xor_sync(~0u, s, o);
    for (int c = t; c < cols; c += blockDim.x) y[(size_t)blockIdx.x * cols + c] = row[c] / s;
}
torch::Tensor run(torch::Tensor x) {
    x = x.contiguous();
    int cols = x.size(1);
    TORCH_CHECK(cols <= 12000, "row too long");
    auto y = torch::empty_like(x);
    softmax_cached<<<x.size(0), 256, cols * sizeof(float)>>>(x.data_ptr<float>(), y.data_ptr<float>(), cols);
    return y;
}
