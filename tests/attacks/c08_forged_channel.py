# fmt: off
"""The guest's channel object is found and used to send a result of its own.

exploits: the worker speaks for the submission
row: C5, C8 (invented: our guest's code is public)
passes: graders whose worker reports on itself
task: relu
expect: not-correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>

__global__ void zero_kernel(float* y, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = 0.0f;
}

torch::Tensor nothing(torch::Tensor x) {
    auto y = torch::empty_like(x);
    long n = x.numel();
    zero_kernel<<<(n + 255) / 256, 256>>>(y.data_ptr<float>(), n);
    return y;
}
"""
ext = load_inline(
    name="nothing_ext", cpp_sources="torch::Tensor nothing(torch::Tensor x);",
    cuda_sources=CUDA, functions=["nothing"],
)

protocol = __import__("grader.guest.protocol", fromlist=["Channel"])
collector = __import__("gc")


class ModelNew(nn.Module):
    def forward(self, x):
        for one in collector.get_objects():
            if isinstance(one, protocol.Channel):
                one.send("result", b"{}", status="ran", reason="", traceback="", line=None,
                         structure="tensor", outputs=0, mutated=[])
        return ext.nothing(x)
