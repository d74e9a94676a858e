constexpr int TILE_DIM = 32;
constexpr int BLOCK_ROWS = 8;
__global__ void transpose(const float* in, float* out, int rows, int cols) {
    __shared__ float tile[TILE_DIM][TILE_DIM + 1];
    int x = blockIdx.x * TILE_DIM + threadIdx.x;
    int y = blockIdx.y * TILE_DIM + threadIdx.y;
    for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
        if (x < cols && y + j < rows) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * cols + x];
    __syncthreads();
    x = blockIdx.y * TILE_DIM + threadIdx.x;
    y = blockIdx.x * TILE_DIM + threadIdx.y;
    for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
        if (x < rows && y + j < cols) out[(y + j) * rows + x] = tile[threadIdx.x][threadIdx.y + j];
}
torch::Tensor run(torch::Tensor a) {
    a = a.contiguous();
    int rows = a.size(0), cols = a.size(1);
    auto out = torch::empty({cols, rows}, a.options());
    dim3 block(TILE_DIM, BLOCK_ROWS), grid((cols + TILE_DIM - 1) / TILE_DIM, (rows + TILE_DIM - 1) / TILE_DIM);
    transpose<<<grid, block>>>(a.data_ptr<float>(), out.data_ptr<float>(), rows, cols);
    return out;
}
