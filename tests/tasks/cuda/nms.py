# task: nms
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = r"""
#include <torch/extension.h>

__device__ inline float iou(const float4 a, const float4 b) {
    float w = fmaxf(0.f, fminf(a.z, b.z) - fmaxf(a.x, b.x));
    float h = fmaxf(0.f, fminf(a.w, b.w) - fmaxf(a.y, b.y));
    float inter = w * h;
    return inter / ((a.z - a.x) * (a.w - a.y) + (b.z - b.x) * (b.w - b.y) - inter);
}

__global__ void nms_mask_kernel(const float4* boxes, unsigned long long* mask, int n, int words, float thr) {
    int row_start = blockIdx.y, col_start = blockIdx.x;
    if (row_start > col_start) return;
    int row = row_start * 64 + threadIdx.x;
    __shared__ float4 block_boxes[64];
    int cols = min(64, n - col_start * 64);
    if (threadIdx.x < cols) block_boxes[threadIdx.x] = boxes[col_start * 64 + threadIdx.x];
    __syncthreads();
    if (row >= n) return;
    unsigned long long bits = 0;
    float4 me = boxes[row];
    int start = row_start == col_start ? threadIdx.x + 1 : 0;
    for (int j = start; j < cols; ++j)
        if (iou(me, block_boxes[j]) > thr) bits |= 1ULL << j;
    mask[(size_t)row * words + col_start] = bits;
}

__global__ void gather_kernel(const unsigned long long* mask, const int64_t* order, bool* keep, int n, int words) {
    extern __shared__ unsigned long long removed[];
    for (int w = threadIdx.x; w < words; w += blockDim.x) removed[w] = 0;
    __syncthreads();
    for (int i = 0; i < n; ++i) {
        bool alive = !((removed[i / 64] >> (i % 64)) & 1ULL);
        __syncthreads();
        if (alive) {
            if (threadIdx.x == 0) keep[order[i]] = true;
            for (int w = i / 64 + threadIdx.x; w < words; w += blockDim.x) removed[w] |= mask[(size_t)i * words + w];
        }
        __syncthreads();
    }
}

torch::Tensor nms(torch::Tensor corners, torch::Tensor sizes, torch::Tensor scores, double threshold) {
    int n = scores.size(0);
    auto order = std::get<1>(scores.sort(0, true));
    auto boxes = torch::cat({corners, corners + sizes}, 1).index_select(0, order).contiguous();
    int words = (n + 63) / 64;
    auto mask = torch::zeros({n, words}, scores.options().dtype(torch::kInt64));
    auto keep = torch::zeros({n}, scores.options().dtype(torch::kBool));
    auto m = reinterpret_cast<unsigned long long*>(mask.data_ptr<int64_t>());
    nms_mask_kernel<<<dim3(words, words), 64>>>(reinterpret_cast<const float4*>(boxes.data_ptr<float>()), m, n, words, (float)threshold);
    gather_kernel<<<1, 64, words * sizeof(unsigned long long)>>>(m, order.data_ptr<int64_t>(), keep.data_ptr<bool>(), n, words);
    return keep;
}
"""
ext = load_inline(
    name="nms_cuda",
    cpp_sources="torch::Tensor nms(torch::Tensor corners, torch::Tensor sizes, torch::Tensor scores, double threshold);",
    cuda_sources=src,
    functions=["nms"],
)


class ModelNew(nn.Module):
    def __init__(self, threshold):
        super().__init__()
        self.threshold = threshold

    def forward(self, corners, sizes, scores):
        return ext.nms(corners, sizes, scores, self.threshold)
