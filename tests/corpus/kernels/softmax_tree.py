# task: softmax
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

softmax_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <cfloat>

// One block per row; both reductions run as a tree in dynamic shared memory.
__global__ void softmax_kernel(const float* input, float* output, int dim) {
    extern __shared__ float sdata[];

    int row = blockIdx.x;
    int tid = threadIdx.x;
    const float* in_row = input + (long long)row * dim;
    float* out_row = output + (long long)row * dim;

    // Step 1: maximum of the row
    float local_max = -FLT_MAX;
    for (int i = tid; i < dim; i += blockDim.x) {
        local_max = fmaxf(local_max, in_row[i]);
    }
    sdata[tid] = local_max;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) {
            sdata[tid] = fmaxf(sdata[tid], sdata[tid + s]);
        }
        __syncthreads();
    }
    float row_max = sdata[0];
    __syncthreads();  // before sdata is used again

    // Step 2: sum of exponentials
    float local_sum = 0.0f;
    for (int i = tid; i < dim; i += blockDim.x) {
        local_sum += expf(in_row[i] - row_max);
    }
    sdata[tid] = local_sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) {
            sdata[tid] += sdata[tid + s];
        }
        __syncthreads();
    }
    float row_sum = sdata[0];

    // Step 3: normalise
    for (int i = tid; i < dim; i += blockDim.x) {
        out_row[i] = expf(in_row[i] - row_max) / row_sum;
    }
}

torch::Tensor softmax_cuda(torch::Tensor x) {
    TORCH_CHECK(x.dim() == 2, "expected a matrix");
    x = x.contiguous();
    auto out = torch::empty_like(x);
    const int rows = x.size(0);
    const int dim = x.size(1);
    const int threads = 256;
    const size_t smem = threads * sizeof(float);
    softmax_kernel<<<rows, threads, smem>>>(x.data_ptr<float>(), out.data_ptr<float>(), dim);
    return out;
}
"""

softmax_cpp = "torch::Tensor softmax_cuda(torch::Tensor x);"

softmax_module = load_inline(
    name="row_softmax",
    cpp_sources=[softmax_cpp],
    cuda_sources=[softmax_source],
    functions=["softmax_cuda"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return softmax_module.softmax_cuda(x)
