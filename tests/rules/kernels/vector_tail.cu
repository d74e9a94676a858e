__global__ void swish4(const float* __restrict__ x, float* __restrict__ y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int n4 = n / 4;
    if (i < n4) {
        float4 v = reinterpret_cast<const float4*>(x)[i];
        v.x = v.x / (1.f + __expf(-v.x));
        v.y = v.y / (1.f + __expf(-v.y));
        v.z = v.z / (1.f + __expf(-v.z));
        v.w = v.w / (1.f + __expf(-v.w));
        reinterpret_cast<float4*>(y)[i] = v;
    }
    int tail = n4 * 4 + i;
    if (tail < n) y[tail] = x[tail] / (1.f + __expf(-x[tail]));
}
torch::Tensor run(torch::Tensor x_in) {
    auto x = x_in.contiguous();
    auto y = torch::empty_like(x);
    int n = x.numel();
    int work = n / 4 > 4 ? n / 4 : 4;
    swish4<<<(work + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
