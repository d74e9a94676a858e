template <int BS>
__global__ void gemm(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, int n) {
    __shared__ float as[2][BS][BS + 1];
    __shared__ float bs[2][BS][BS + 1];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * BS + ty, col = blockIdx.x * BS + tx;
    int cur = 0;
    as[cur][ty][tx] = (row < n && tx < n) ? A[row * n + tx] : 0.f;
    bs[cur][ty][tx] = (ty < n && col < n) ? B[ty * n + col] : 0.f;
    __syncthreads();
    float acc = 0.f;
    const int tiles = (n + BS - 1) / BS;
    for (int t = 0; t < tiles; t++) {
        int next = cur ^ 1;
        if (t + 1 < tiles) {
            int k = (t + 1) * BS;
            as[next][ty][tx] = (row < n && k + tx < n) ? A[row * n + k + tx] : 0.f;
            bs[next][ty][tx] = (k + ty < n && col < n) ? B[(k + ty) * n + col] : 0.f;
        }
        for (int k = 0; k < BS; k++) acc += as[cur][ty][k] * bs[cur][k][tx];
        __syncthreads();
        cur = next;
    }
    if (row < n && col < n) C[row * n + col] = acc;
}
torch::Tensor run(torch::Tensor A, torch::Tensor B) {
    TORCH_CHECK(A.is_contiguous() && B.is_contiguous());
    int n = A.size(0);
    auto C = torch::empty({n, n}, A.options());
    dim3 block(16, 16), grid((n + 15) / 16, (n + 15) / 16);
    gemm<16><<<grid, block>>>(A.data_ptr<float>(), B.data_ptr<float>(), C.data_ptr<float>(), n);
    return C;
}
