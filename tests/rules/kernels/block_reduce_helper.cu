#define WARP 32
__inline__ __device__ float warpReduceSum(float v) {
#pragma unroll
    for (int mask = WARP / 2; mask > 0; mask /= 2) v += __shfl_down_sync(0xffffffffu, v, mask);
    return v;
}
__inline__ __device__ float blockReduceSum(float v) {
    static __shared__ float shared[32];
    int lane = threadIdx.x % WARP;
    int wid = threadIdx.x / WARP;
    v = warpReduceSum(v);
    if (lane == 0) shared[wid] = v;
    __syncthreads();
    v = (threadIdx.x < blockDim.x / WARP) ? shared[lane] : 0.0f;
    if (wid == 0) v = warpReduceSum(v);
    return v;
}
__global__ void layernorm(const float* x, const float* w, const float* b, float* y, int n, float eps) {
    __shared__ float s_mean, s_rstd;
    const float* row = x + (size_t)blockIdx.x * n;
    float* out = y + (size_t)blockIdx.x * n;
    float sum = 0.f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += row[i];
    sum = blockReduceSum(sum);
    if (threadIdx.x == 0) s_mean = sum / n;
    __syncthreads();
    float mean = s_mean;
    float var = 0.f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) { float d = row[i] - mean; var += d * d; }
    var = blockReduceSum(var);
    if (threadIdx.x == 0) s_rstd = rsqrtf(var / n + eps);
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = (row[i] - mean) * s_rstd * w[i] + b[i];
}
torch::Tensor run(torch::Tensor x, torch::Tensor w, torch::Tensor b, double eps) {
    x = x.contiguous();
    auto y = torch::empty_like(x);
    int n = x.size(-1);
    int rows = x.numel() / n;
    layernorm<<<rows, 256>>>(x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), n, (float)eps);
    return y;
}
