__global__ void softmax_rows(const float* __restrict__ in, float* __restrict__ out, const int cols) {
    extern __shared__ float buf[];
    const int row = blockIdx.x;
    const int t = threadIdx.x;
    const float* src = in + (int64_t)row * cols;
    float* dst = out + (int64_t)row * cols;
    float peak = -INFINITY;
    for (int c = t; c < cols; c += blockDim.x) peak = fmaxf(peak, src[c]);
    buf[t] = peak;
    for (unsigned int s = blockDim.x >> 1; s > 0; s >>= 1) {
        __syncthreads();
        if (t < s) buf[t] = fmaxf(buf[t], buf[t + s]);
    }
    __syncthreads();
    peak = buf[0];
    __syncthreads();
    float sum = 0.f;
    for (int c = t; c < cols; c += blockDim.x) sum += __expf(src[c] - peak);
    buf[t] = sum;
    for (unsigned int s = blockDim.x >> 1; s > 0; s >>= 1) {
        __syncthreads();
        if (t < s) buf[t] += buf[t + s];
    }
    __syncthreads();
    float inv = 1.0f / buf[0];
    for (int c = t; c < cols; c += blockDim.x) dst[c] = __expf(src[c] - peak) * inv;
}
torch::Tensor run(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda() && x.is_contiguous() && x.dim() == 2, "bad input");
    auto out = torch::empty_like(x);
    int threads = 1;
    while (threads < x.size(1) && threads < 512) threads <<= 1;
    softmax_rows<<<x.size(0), threads, threads * sizeof(float)>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.size(1));
    return out;
}
