__global__ void batch_stats(const float* x, float* mean_out, float* var_out, int N, int C, int HW) {
    int c = blockIdx.x;
    int tid = threadIdx.x;
    float mean = 0.f, m2 = 0.f, count = 0.f;
    for (int i = tid; i < N * HW; i += blockDim.x) {
        int n = i / HW, p = i % HW;
        float v = x[((size_t)n * C + c) * HW + p];
        count += 1.f;
        float d = v - mean;
        mean += d / count;
        m2 += d * (v - mean);
    }
    __shared__ float s_mean[256], s_m2[256], s_count[256];
    s_mean[tid] = mean; s_m2[tid] = m2; s_count[tid] = count;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) {
            float na = s_count[tid], nb = s_count[tid + s];
            float total = na + nb;
            if (total > 0.f) {
                float delta = s_mean[tid + s] - s_mean[tid];
                s_mean[tid] += delta * nb / total;
                s_m2[tid] += s_m2[tid + s] + delta * delta * na * nb / total;
                s_count[tid] = total;
            }
        }
        __syncthreads();
    }
    if (tid == 0) { mean_out[c] = s_mean[0]; var_out[c] = s_m2[0] / s_count[0]; }
}
std::vector<torch::Tensor> run(torch::Tensor x) {
    x = x.contiguous();
    int N = x.size(0), C = x.size(1), HW = x.size(2) * x.size(3);
    auto m = torch::empty({C}, x.options());
    auto v = torch::empty({C}, x.options());
    batch_stats<<<C, 256>>>(x.data_ptr<float>(), m.data_ptr<float>(), v.data_ptr<float>(), N, C, HW);
    return {m, v};
}
