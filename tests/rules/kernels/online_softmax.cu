__global__ void softmax_online(const float* __restrict__ x, float* __restrict__ y, int cols) {
    const float* row = x + (size_t)blockIdx.x * cols;
    float m = -INFINITY, d = 0.f;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) {
        float v = row[c];
        float nm = fmaxf(m, v);
        d = d * expf(m - nm) + expf(v - nm);
        m = nm;
    }
    for (int o = 16; o; o >>= 1) {
        float om = __shfl_xor_sync(0xffffffffu, m, o);
        float od = __shfl_xor_sync(0xffffffffu, d, o);
        float nm = fmaxf(m, om);
        d = (m == -INFINITY ? 0.f : d * expf(m - nm)) + (om == -INFINITY ? 0.f : od * expf(om - nm));
        m = nm;
    }
    __shared__ float sm[8], sd[8];
    int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    if (lane == 0) { sm[warp] = m; sd[warp] = d; }
    __syncthreads();
    m = sm[0]; d = sd[0];
    for (int w = 1; w < 8; ++w) {
        float nm = fmaxf(m, sm[w]);
        d = d * expf(m - nm) + sd[w] * expf(sm[w] - nm);
        m = nm;
    }
    float inv = 1.f / d;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) y[(size_t)blockIdx.x * cols + c] = expf(row[c] - m) * inv;
}
torch::Tensor run(torch::Tensor x) {
    x = x.contiguous();
    auto y = torch::empty_like(x);
    softmax_online<<<x.size(0), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
