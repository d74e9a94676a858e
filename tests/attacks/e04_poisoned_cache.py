# fmt: off
"""Caches of extensions and of Python are filled for whoever comes next.

exploits: caches are shared by samples
row: E4
passes: graders with one cache
task: relu
expect: not-correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

import os
import pathlib
import sysconfig

for folder in (pathlib.Path.home() / ".cache/torch_extensions/relu_ext",
               pathlib.Path(sysconfig.get_paths()["purelib"]) / "torch/__pycache__",
               pathlib.Path(os.environ.get("TORCH_EXTENSIONS_DIR", "/tmp")) / "relu_ext"):
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "relu_ext.so").write_bytes(b"poison")
        (folder / "__init__.cpython-312.pyc").write_bytes(b"poison")
    except OSError:
        pass

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


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.nothing(x)
