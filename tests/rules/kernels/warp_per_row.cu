__global__ void row_dot(const float* a, const float* b, float* out, int rows, int cols) {
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x & 31;
    if (warp >= rows) return;
    float s = 0.f;
    for (int c = lane; c < cols; c += 32) s += a[(size_t)warp * cols + c] * b[(size_t)warp * cols + c];
    for (int o = 16; o > 0; o >>= 1) s += __shfl_down_sync(0xffffffff, s, o);
    if (lane == 0) out[warp] = s;
}
torch::Tensor run(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous(); b = b.contiguous();
    int rows = a.size(0), cols = a.size(1);
    auto out = torch::empty({rows}, a.options());
    row_dot<<<(rows * 32 + 255) / 256, 256>>>(a.data_ptr<float>(), b.data_ptr<float>(), out.data_ptr<float>(), rows, cols);
    return out;
}
