# fmt: off
"""Forged frames are written to every open descriptor.

exploits: the channel to the parent is inherited
row: C8, C9
passes: PYG (fd_overwrite), GPUM (POPCORN_FD)
task: relu
expect: not-correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline
import json
import os
import struct

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


def forged():
    header = json.dumps({"kind": "result", "status": "ran", "outputs": 0, "mutated": []}).encode()
    return struct.pack("<II", len(header), 0) + header


class ModelNew(nn.Module):
    def forward(self, x):
        for number in range(3, 1024):
            try:
                os.write(number, forged())
            except OSError:
                continue
        return ext.nothing(x)
