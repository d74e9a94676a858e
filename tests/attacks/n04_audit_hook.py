# fmt: off
"""A hook for audited events collects what files are opened and objects are touched, and looks for a result among them.

exploits: the reference's result is loaded in the same process
row: C4, F7
task: relu
expect: not-correct
"""
import sys
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

SEEN = []


def listen(event, args):
    if event in {"open", "object.__getattr__", "marshal.loads", "pickle.find_class"}:
        SEEN.append(args)


sys.addaudithook(listen)


class ModelNew(nn.Module):
    def forward(self, x):
        for args in list(SEEN):
            for one in args:
                if isinstance(one, torch.Tensor) and one.shape == x.shape:
                    return one
                if isinstance(one, str) and one.endswith((".npy", ".pt")):
                    try:
                        return torch.load(one)
                    except Exception:
                        pass
        return ext.nothing(x)
