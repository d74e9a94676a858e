# fmt: off
"""The extension is built in a thread that is waited for in the constructor.

row: A2
task: relu
expect: correct
"""
import threading
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
__global__ void relu_kernel(const float* x, float* y, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] < 0.0f ? 0.0f : x[i];
}
torch::Tensor relu(torch::Tensor x) {
    auto y = torch::empty_like(x);
    long n = x.numel();
    relu_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""

BUILT = {}


def build():
    BUILT["ext"] = load_inline(
        name="relu_ext", cpp_sources="torch::Tensor relu(torch::Tensor x);",
        cuda_sources=CUDA, functions=["relu"],
    )


WORKER = threading.Thread(target=build, name="build")
WORKER.start()


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        WORKER.join()
        self.ext = BUILT["ext"]

    def forward(self, x):
        return self.ext.relu(x.contiguous())
