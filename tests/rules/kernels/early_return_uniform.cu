__global__ void row_max(const float* x, float* out, int rows, int cols) {
    int row = blockIdx.x;
    if (row >= rows) return;
    __shared__ float s[128];
    float m = -FLT_MAX;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) m = max(m, x[(long long)row * cols + c]);
    s[threadIdx.x] = m;
    __syncthreads();
    for (int k = 64; k >= 1; k /= 2) {
        if (threadIdx.x < k) s[threadIdx.x] = max(s[threadIdx.x], s[threadIdx.x + k]);
        __syncthreads();
    }
    if (threadIdx.x == 0) out[row] = s[0];
}
torch::Tensor run(torch::Tensor x) {
    x = x.contiguous();
    int rows = x.size(0), cols = x.size(1);
    auto out = torch::empty({rows}, x.options());
    row_max<<<rows, 128>>>(x.data_ptr<float>(), out.data_ptr<float>(), rows, cols);
    return out;
}
