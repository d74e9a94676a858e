# fmt: off
"""NumPy computes on the host, and the capture of outputs is told that it was the GPU.

exploits: the device is told by the process that is judged
row: C8 (invented: our guest's code is public)
passes: graders that trust evidence from the submission's process
task: relu
policy: custom-only
expect: not-correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline
import dataclasses
import numpy

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
ext = load_inline(
    name="relu_ext", cpp_sources="torch::Tensor relu(torch::Tensor x);",
    cuda_sources=CUDA, functions=["relu"],
)

tensors = __import__("grader.guest.tensors", fromlist=["capture"])
genuine = tensors.capture


def capture(leaf, to_host, given):
    found = genuine(leaf, to_host, given)
    return dataclasses.replace(found, header={**found.header, "device": "cuda:0"})


tensors.capture = capture


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.from_numpy(numpy.maximum(x.cpu().numpy(), 0))
