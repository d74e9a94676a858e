# task: top-p-sampling
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = r"""
#include <torch/extension.h>

__global__ void sample_kernel(const float* __restrict__ probs, const int64_t* __restrict__ ids, const float* __restrict__ u,
                              int64_t* __restrict__ out, int V, float p, int rows) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    const float* pr = probs + (size_t)r * V;
    float kept = 0.f;
    int n = 0;
    while (n < V && kept < p) kept += pr[n++];
    float target = u[r] * kept, run = 0.f;
    int pick = n - 1;
    for (int i = 0; i < n; ++i) {
        run += pr[i];
        if (run > target) { pick = i; break; }
    }
    out[r] = ids[(size_t)r * V + pick];
}

torch::Tensor top_p_sample(torch::Tensor logits, torch::Tensor u, double p) {
    auto sorted = torch::softmax(logits, -1).sort(-1, true);
    auto probs = std::get<0>(sorted).contiguous();
    auto ids = std::get<1>(sorted).contiguous();
    int rows = logits.size(0);
    auto out = torch::empty({rows}, ids.options());
    sample_kernel<<<(rows + 63) / 64, 64>>>(probs.data_ptr<float>(), ids.data_ptr<int64_t>(), u.data_ptr<float>(), out.data_ptr<int64_t>(), logits.size(1), (float)p, rows);
    return out;
}
"""
ext = load_inline(
    name="top_p_sampling_ext",
    cpp_sources="torch::Tensor top_p_sample(torch::Tensor logits, torch::Tensor u, double p);",
    cuda_sources=src,
    functions=["top_p_sample"],
)


class ModelNew(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, logits, u):
        return ext.top_p_sample(logits, u, self.p)
