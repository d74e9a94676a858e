# task: avg-pool-1d
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = '''
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void avg_pool1d_kernel(const float *x, float *y, int rows, int len, int out_len,
                                  int k, int stride, int pad)
{
    for (int idx = blockIdx.x * blockDim.x + threadIdx.x; idx < rows * out_len;
         idx += gridDim.x * blockDim.x) {
        int o = idx % out_len;
        int row = idx / out_len;
        int begin = o * stride - pad;
        float sum = 0.f;
        for (int j = 0; j < k; j++) {
            int at = begin + j;
            if (at >= 0 && at < len)
                sum += x[(size_t)row * len + at];
        }
        y[idx] = sum / k;
    }
}

torch::Tensor avg_pool1d_cuda(torch::Tensor x, int k, int stride, int pad)
{
    x = x.contiguous();
    int batch = x.size(0), channels = x.size(1), len = x.size(2);
    int out_len = (len + 2 * pad - k) / stride + 1;
    auto y = torch::empty({batch, channels, out_len}, x.options());
    int rows = batch * channels;
    int blocks = (rows * out_len + 255) / 256;
    if (blocks > 4096) blocks = 4096;
    avg_pool1d_kernel<<<blocks, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, len, out_len, k, stride, pad);
    return y;
}
'''

module = load_inline(
    name='avg_pool1d_grid',
    cpp_sources='torch::Tensor avg_pool1d_cuda(torch::Tensor x, int k, int stride, int pad);',
    cuda_sources=source,
    functions=['avg_pool1d_cuda'],
)


class ModelNew(nn.Module):
    def __init__(self, kernel_size: int, stride: int = 1, padding: int = 0):
        super().__init__()
        self.k, self.s, self.p = kernel_size, stride, padding

    def forward(self, x):
        return module.avg_pool1d_cuda(x, self.k, self.s, self.p)
