__global__ void maxpool(const float* __restrict__ x, float* __restrict__ y, int C, int H, int W, int OH, int OW, int k, int stride, int total) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx < total) {
        int ow = idx % OW;
        int oh = (idx / OW) % OH;
        int nc = idx / (OW * OH);
        float best = -INFINITY;
        for (int i = 0; i < k; i++) {
            for (int j = 0; j < k; j++) {
                int h = oh * stride + i, w = ow * stride + j;
                if (h < H && w < W) best = fmaxf(best, x[(nc * H + h) * W + w]);
            }
        }
        y[idx] = best;
    }
}
torch::Tensor run(torch::Tensor x, int k, int stride) {
    x = x.contiguous();
    int N = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3);
    int OH = (H - k) / stride + 1, OW = (W - k) / stride + 1;
    auto y = torch::empty({N, C, OH, OW}, x.options());
    int total = N * C * OH * OW;
    maxpool<<<(total + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), C, H, W, OH, OW, k, stride, total);
    return y;
}
