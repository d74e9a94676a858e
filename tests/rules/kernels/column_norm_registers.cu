__global__ void rms_channels(const float* __restrict__ x, float* __restrict__ y, int C, int HW, long long total, float eps) {
    long long p = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= total) return;
    long long n = p / HW, q = p % HW;
    const float* src = x + n * C * HW + q;
    float ss = 0.f;
    for (int c = 0; c < C; ++c) { float v = src[(long long)c * HW]; ss += v * v; }
    float inv = rsqrtf(ss / C + eps);
    float* dst = y + n * C * HW + q;
    for (int c = 0; c < C; ++c) dst[(long long)c * HW] = src[(long long)c * HW] * inv;
}
torch::Tensor run(torch::Tensor x_in, double eps) {
    auto x = x_in.contiguous();
    TORCH_CHECK(x.dim() == 4);
    int C = x.size(1), HW = x.size(2) * x.size(3);
    long long total = (long long)x.size(0) * HW;
    auto y = torch::empty_like(x);
    rms_channels<<<(total + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), C, HW, total, (float)eps);
    return y;
}
