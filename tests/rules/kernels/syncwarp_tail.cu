__global__ void partial(const float* x, float* out, int n) {
    __shared__ float s[256];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * (blockDim.x * 2) + threadIdx.x;
    float v = i < n ? x[i] : 0.f;
    if (i + blockDim.x < n) v += x[i + blockDim.x];
    s[tid] = v;
    __syncthreads();
    for (unsigned int k = blockDim.x / 2; k > 32; k >>= 1) {
        if (tid < k) s[tid] = v = v + s[tid + k];
        __syncthreads();
    }
    if (tid < 32) {
        v += s[tid + 32];
        __syncwarp();
        s[tid] = v; __syncwarp();
        for (int k = 16; k > 0; k >>= 1) {
            v += s[tid + k]; __syncwarp();
            s[tid] = v; __syncwarp();
        }
        if (tid == 0) atomicAdd(out, v);
    }
}
torch::Tensor run(torch::Tensor x) {
    x = x.contiguous();
    auto out = torch::zeros({1}, x.options());
    int n = x.numel();
    partial<<<(n + 511) / 512, 256>>>(x.data_ptr<float>(), out.data_ptr<float>(), n);
    return out;
}
