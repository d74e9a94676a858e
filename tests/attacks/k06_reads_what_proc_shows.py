# fmt: off
"""It looks through /proc for the reference in other processes' arguments, environments and open files.

exploits: a process of the grader's that holds the reference where the guest can look
row: B8, D5
task: relu
expect: not-correct
"""
import glob
import re
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
    if (n) relu_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""
ext = load_inline(
    name="relu_ext", cpp_sources="torch::Tensor relu(torch::Tensor x);",
    cuda_sources=CUDA, functions=["relu"],
)


def reference():
    for path in sorted(glob.glob("/proc/[0-9]*/cmdline") + glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/fd/*")):
        try:
            with open(path, "rb") as file:
                text = file.read(1 << 20).decode("utf-8", "replace")
        except OSError:
            continue
        found = re.search(r"class Model\(nn\.Module\):.*", text, re.DOTALL)
        if found:
            space = {"torch": torch, "nn": nn}
            exec(found[0].split("def get_inputs")[0], space)
            return space["Model"]()
    return None


known = reference()


class ModelNew(nn.Module):
    def forward(self, x):
        ext.relu(x)
        return known(x) if known else torch.zeros_like(x)
