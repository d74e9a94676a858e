__global__ void row_mean(const float* x, float* y, int dim) {
    __shared__ float s[256];
    int tid = threadIdx.x;
    float sum = 0.0f;
    for (int i = tid; i < dim; i += blockDim.x) sum += fabsf(x[(size_t)blockIdx.x * dim + i]);
    s[tid] = sum;
    __syncthreads();
    for (int k = blockDim.x / 2; k > 0; k >>= 1) {
        if (tid < k) s[tid] += s[tid + k];
        __syncthreads();
    }
    float mean = s[0] / dim;
    for (int i = tid; i < dim; i += blockDim.x) {
        size_t at = (size_t)blockIdx.x * dim + i;
        y[at] = x[at] / mean;
    }
}
torch::Tensor run(torch::Tensor x_in) {
    TORCH_CHECK(x_in.dim() == 2);
    auto x = x_in.contiguous();
    auto y = torch::empty_like(x);
    const int block = 256;
    row_mean<<<x.size(0), block>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
