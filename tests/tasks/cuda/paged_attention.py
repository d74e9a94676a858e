# task: decode-attention-paged
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = r"""
#include <torch/extension.h>
#include <cfloat>

// Online softmax: every warp walks over its share of the keys, then the warps are merged.
template <int WARPS>
__global__ void paged_attention_kernel(const float* __restrict__ q, const float* __restrict__ k_cache,
        const float* __restrict__ v_cache, const int* __restrict__ block_table, const int* __restrict__ lengths,
        float* __restrict__ out, int H, int HK, int D, int page, int max_pages, float scale) {
    extern __shared__ float smem[];            // WARPS * D accumulators
    __shared__ float s_max[WARPS], s_sum[WARPS];
    const int b = blockIdx.y, h = blockIdx.x, hk = h / (H / HK);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const float* qp = q + ((size_t)b * H + h) * D;
    float* acc = smem + warp * D;
    for (int d = lane; d < D; d += 32) acc[d] = 0.f;
    __syncwarp();
    float m = -FLT_MAX, l = 0.f;
    const int len = lengths[b];
    for (int t = warp; t < len; t += WARPS) {
        const int physical = block_table[b * max_pages + t / page];
        const size_t base = (((size_t)physical * page + t % page) * HK + hk) * D;
        float s = 0.f;
        for (int d = lane; d < D; d += 32) s += qp[d] * k_cache[base + d];
        for (int o = 16; o > 0; o >>= 1) s += __shfl_xor_sync(0xffffffff, s, o);
        s *= scale;
        const float m_new = fmaxf(m, s), corr = __expf(m - m_new), p = __expf(s - m_new);
        l = l * corr + p;
        for (int d = lane; d < D; d += 32) acc[d] = acc[d] * corr + p * v_cache[base + d];
        m = m_new;
    }
    if (lane == 0) { s_max[warp] = m; s_sum[warp] = l; }
    __syncthreads();
    float M = -FLT_MAX, L = 0.f;
    for (int w = 0; w < WARPS; ++w) M = fmaxf(M, s_max[w]);
    for (int w = 0; w < WARPS; ++w) L += s_sum[w] * __expf(s_max[w] - M);
    for (int d = threadIdx.x; d < D; d += blockDim.x) {
        float o = 0.f;
        for (int w = 0; w < WARPS; ++w) o += smem[w * D + d] * __expf(s_max[w] - M);
        out[((size_t)b * H + h) * D + d] = o / L;
    }
}

torch::Tensor paged_attention(torch::Tensor q, torch::Tensor keys, torch::Tensor values, torch::Tensor table, torch::Tensor lengths) {
    const int B = q.size(0), H = q.size(1), D = q.size(2), page = keys.size(1), HK = keys.size(2);
    auto out = torch::empty_like(q);
    paged_attention_kernel<4><<<dim3(H, B), 128, 4 * D * sizeof(float)>>>(
        q.data_ptr<float>(), keys.data_ptr<float>(), values.data_ptr<float>(), table.data_ptr<int>(), lengths.data_ptr<int>(),
        out.data_ptr<float>(), H, HK, D, page, (int)table.size(1), 1.0f / sqrtf((float)D));
    return out;
}
"""
paged = load_inline(
    name="paged_attention_ext",
    cpp_sources="torch::Tensor paged_attention(torch::Tensor q, torch::Tensor keys, torch::Tensor values, torch::Tensor table, torch::Tensor lengths);",
    cuda_sources=src,
    functions=["paged_attention"],
)


class ModelNew(nn.Module):
    def forward(self, q, keys, values, table, lengths):
        return paged.paged_attention(
            q.contiguous(),
            keys.contiguous(),
            values.contiguous(),
            table.contiguous(),
            lengths.contiguous(),
        )
