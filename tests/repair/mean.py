"""A program with a mean of rows that tests change in small ways, and what becomes of its lines."""

from __future__ import annotations

from grader.diagnose import Program
from grader.repair.candidates.order import candidates
from grader.source import edits, parse

MEAN = '''
import torch
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

__global__ void row_mean(const float* x, const float* w, float* y, int cols, int rows) {
    __shared__ float part[256];
    const int width = 256;
    float sum = 0.0f;
    for (int i = threadIdx.x; i <= cols; i += blockDim.x) {
        float v = x[blockIdx.x * cols + i];
        sum += v * w[i];
    }
    part[threadIdx.x] = sum;
    for (int s = width / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) y[blockIdx.x] = part[0];
}

torch::Tensor run(torch::Tensor x, torch::Tensor w) {
    auto y = torch::empty({x.size(0)}, x.options());
    row_mean<<<x.size(0), 256>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), x.size(1), x.size(0));
    return y;
}
"""
ops = load_inline(name="ops", cpp_sources="torch::Tensor run(torch::Tensor x, torch::Tensor w);", cuda_sources=source, functions=["run"])


class ModelNew(torch.nn.Module):
    def forward(self, x, w):
        return ops.run(x, w)
'''


def changed(program: Program) -> set[str]:
    """Return the program's lines after each small change, the changed ones only."""
    old = set(MEAN.splitlines())
    found = set()
    for variant in candidates(parse(MEAN), program):
        fix = variant.fix()
        assert fix is not None
        found |= set(edits.apply(MEAN, fix.edits).splitlines()) - old
    return {line.strip() for line in found}
