__global__ void conv2d(const float* x, const float* w, const float* b, float* y, int N, int C, int H, int W, int O, int K, int pad, int OH, int OW) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= N * O * OH * OW) return;
    int ow = idx % OW, oh = idx / OW % OH, o = idx / (OW * OH) % O, n = idx / (OW * OH * O);
    float acc = b[o];
    for (int c = 0; c < C; ++c)
        for (int i = 0; i < K; ++i)
            for (int j = 0; j < K; ++j) {
                int ih = oh - pad + i, iw = ow - pad + j;
                if (ih >= 0 && ih < H && iw >= 0 && iw < W)
                    acc += x[((n * C + c) * H + ih) * W + iw] * w[((o * C + c) * K + i) * K + j];
            }
    y[idx] = acc;
}
torch::Tensor run(torch::Tensor x, torch::Tensor w, torch::Tensor b, int64_t pad) {
    x = x.contiguous(); w = w.contiguous();
    int N = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3), O = w.size(0), K = w.size(2);
    int OH = H + 2 * pad - K + 1, OW = W + 2 * pad - K + 1;
    auto y = torch::empty({N, O, OH, OW}, x.options());
    int total = N * O * OH * OW;
    conv2d<<<(total + 255) / 256, 256>>>(x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), N, C, H, W, O, K, pad, OH, OW);
    return y;
}
