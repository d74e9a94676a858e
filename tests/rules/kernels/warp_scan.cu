__global__ void cumsum(const float* x, float* y, int rows, int cols) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    int lane = threadIdx.x % 32;
    if (row >= rows) return;
    float carry = 0.f;
    for (int base = 0; base < cols; base += 32) {
        int c = base + lane;
        float v = c < cols ? x[(size_t)row * cols + c] : 0.f;
        for (int d = 1; d < 32; d <<= 1) {
            float other = __shfl_up_sync(0xffffffff, v, d);
            if (lane >= d) v += other;
        }
        if (c < cols) y[(size_t)row * cols + c] = carry + v;
        carry += __shfl_sync(0xffffffff, v, 31);
    }
}
torch::Tensor run(torch::Tensor x) {
    x = x.contiguous();
    int rows = x.size(0), cols = x.size(1);
    auto y = torch::empty_like(x);
    cumsum<<<(rows + 3) / 4, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, cols);
    return y;
}
