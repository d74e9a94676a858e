# fmt: off
"""A transposed copy of the weight is kept until the weight's version changes.

row: B1, B18
task: layer-norm
expect: correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
__global__ void norm_kernel(const float* x, const float2* wb, float* y, int n, float eps) {
    __shared__ float sums[2][256];
    const float* row = x + (long)blockIdx.x * n;
    float s = 0.0f;
    for (int i = threadIdx.x; i < n; i += 256) s += row[i];
    sums[0][threadIdx.x] = s;
    __syncthreads();
    for (int k = 128; k; k /= 2) {
        if (threadIdx.x < k) sums[0][threadIdx.x] += sums[0][threadIdx.x + k];
        __syncthreads();
    }
    float mean = sums[0][0] / n, q = 0.0f;
    for (int i = threadIdx.x; i < n; i += 256) q += (row[i] - mean) * (row[i] - mean);
    sums[1][threadIdx.x] = q;
    __syncthreads();
    for (int k = 128; k; k /= 2) {
        if (threadIdx.x < k) sums[1][threadIdx.x] += sums[1][threadIdx.x + k];
        __syncthreads();
    }
    float scale = rsqrtf(sums[1][0] / n + eps);
    for (int i = threadIdx.x; i < n; i += 256)
        y[(long)blockIdx.x * n + i] = (row[i] - mean) * scale * wb[i].x + wb[i].y;
}
torch::Tensor norm(torch::Tensor x, torch::Tensor wb, double eps) {
    auto y = torch::empty_like(x);
    int n = wb.numel() / 2;
    norm_kernel<<<x.numel() / n, 256>>>(
        x.data_ptr<float>(), reinterpret_cast<const float2*>(wb.data_ptr<float>()), y.data_ptr<float>(), n, (float)eps);
    return y;
}
"""
ext = load_inline(
    name="norm_ext", cpp_sources="torch::Tensor norm(torch::Tensor x, torch::Tensor wb, double eps);",
    cuda_sources=CUDA, functions=["norm"],
)


class ModelNew(nn.Module):
    def __init__(self, normalized_shape: tuple):
        super().__init__()
        self.ln = nn.LayerNorm(normalized_shape=normalized_shape)
        self.packed, self.packed_of = None, None

    def packed_weight(self):
        w, b = self.ln.weight, self.ln.bias
        now = (w.data_ptr(), w._version, b.data_ptr(), b._version)
        if self.packed_of != now:
            self.packed = torch.stack([w.detach().flatten(), b.detach().flatten()], dim=-1).contiguous()
            self.packed_of = now
        return self.packed

    def forward(self, x):
        return ext.norm(x.contiguous(), self.packed_weight(), self.ln.eps)
