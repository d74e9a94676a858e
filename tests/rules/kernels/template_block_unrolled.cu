template <unsigned int blockSize>
__device__ void warpReduce(volatile float* sdata, unsigned int tid) {
    if (blockSize >= 64) { sdata[tid] += sdata[tid + 32]; __syncwarp(); }
    if (blockSize >= 32 && tid < 16) sdata[tid] += sdata[tid + 16];
    __syncwarp();
    if (tid < 8) sdata[tid] += sdata[tid + 8];
    __syncwarp();
    if (tid < 4) sdata[tid] += sdata[tid + 4];
    __syncwarp();
    if (tid < 2) sdata[tid] += sdata[tid + 2];
    __syncwarp();
    if (tid < 1) sdata[tid] += sdata[tid + 1];
}
template <unsigned int blockSize>
__global__ void reduce6(const float* g, float* out, unsigned int n) {
    extern __shared__ float sdata[];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * blockSize * 2 + tid;
    unsigned int grid = blockSize * 2 * gridDim.x;
    float sum = 0;
    while (i < n) {
        sum += g[i];
        if (i + blockSize < n) sum += g[i + blockSize];
        i += grid;
    }
    sdata[tid] = sum;
    __syncthreads();
    if (blockSize >= 512) { if (tid < 256) sdata[tid] += sdata[tid + 256]; __syncthreads(); }
    if (blockSize >= 256) { if (tid < 128) sdata[tid] += sdata[tid + 128]; __syncthreads(); }
    if (blockSize >= 128) { if (tid < 64) sdata[tid] += sdata[tid + 64]; __syncthreads(); }
    if (tid < 32) warpReduce<blockSize>(sdata, tid);
    if (tid == 0) out[blockIdx.x] = sdata[0];
}
torch::Tensor run(torch::Tensor x) {
    x = x.contiguous();
    int n = x.numel();
    int blocks = std::min((n + 511) / 512, 1024);
    auto part = torch::empty({blocks}, x.options());
    reduce6<256><<<blocks, 256, 256 * sizeof(float)>>>(x.data_ptr<float>(), part.data_ptr<float>(), n);
    return part.sum();
}
