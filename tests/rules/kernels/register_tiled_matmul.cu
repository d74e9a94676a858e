#define BM 64
#define BN 64
#define BK 8
#define TM 8
__global__ void sgemm(const float* A, const float* B, float* C, int M, int N, int K) {
    const int cRow = blockIdx.y, cCol = blockIdx.x;
    const int threadCol = threadIdx.x % BN, threadRow = threadIdx.x / BN;
    __shared__ float As[BM * BK];
    __shared__ float Bs[BK * BN];
    A += cRow * BM * K;
    B += cCol * BN;
    C += cRow * BM * N + cCol * BN;
    const int innerColA = threadIdx.x % BK, innerRowA = threadIdx.x / BK;
    const int innerColB = threadIdx.x % BN, innerRowB = threadIdx.x / BN;
    float results[TM] = {0.0f};
    for (int bk = 0; bk < K; bk += BK) {
        As[innerRowA * BK + innerColA] = A[innerRowA * K + innerColA];
        Bs[innerRowB * BN + innerColB] = B[innerRowB * N + innerColB];
        __syncthreads();
        A += BK;
        B += BK * N;
        for (int dot = 0; dot < BK; ++dot) {
            float tmp = Bs[dot * BN + threadCol];
            for (int r = 0; r < TM; ++r) results[r] += As[(threadRow * TM + r) * BK + dot] * tmp;
        }
        __syncthreads();
    }
    for (int r = 0; r < TM; ++r) C[(threadRow * TM + r) * N + threadCol] = results[r];
}
torch::Tensor run(torch::Tensor A, torch::Tensor B) {
    A = A.contiguous(); B = B.contiguous();
    int M = A.size(0), K = A.size(1), N = B.size(1);
    TORCH_CHECK(M % BM == 0 && N % BN == 0 && K % BK == 0, "sizes must divide");
    auto C = torch::empty({M, N}, A.options());
    dim3 grid(N / BN, M / BM);
    sgemm<<<grid, 512>>>(A.data_ptr<float>(), B.data_ptr<float>(), C.data_ptr<float>(), M, N, K);
    return C;
}
