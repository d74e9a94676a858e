__global__ void histogram(const int* x, int* bins, int n) {
    __shared__ int local[256];
    local[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) atomicAdd(&local[x[i] & 255], 1);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}
torch::Tensor run(torch::Tensor x) {
    x = x.contiguous();
    auto bins = torch::zeros({256}, x.options());
    int n = x.numel();
    histogram<<<64, 256>>>(x.data_ptr<int>(), bins.data_ptr<int>(), n);
    return bins;
}
