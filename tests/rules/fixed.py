"""Programs that several tests of fixes break, and what they look like after a fix."""

from __future__ import annotations

from grader.records import Context, Details, Evidence, Place
from grader.source import parse
from grader.source.edits import apply
from tests.rules.reviews import detected_with_fixes

PLAIN = """
__global__ void half_of(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * 0.5f;
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    half_of<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
"""


MODEL = '''
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

source = """%s"""
ops = load_inline(name="ops", cpp_sources="%s", cuda_sources=source, functions=["run"]%s)


class ModelNew(nn.Module):
    def forward(self, x):
        return ops.run(x)
'''


def program(
    cuda: str, declared: str = "torch::Tensor run(torch::Tensor x);", more: str = ""
) -> str:
    return MODEL % (cuda, declared, more)


def seen(
    kind: str, text: str, code: str = "error", line: int = 0, details: Details | None = None
) -> Context:
    place = Place(line=line, end_line=line) if line else None
    item = Evidence(kind=kind, code=code, text=text, place=place, kernel="mark", details=details)
    return Context(evidence=(item,), device="sim")


def fixes(rule: str, code: str, context: Context | None = None) -> list[set[str]]:
    """Return the lines of the program after each fix of each finding, without their indentation."""
    found = detected_with_fixes(rule, parse(code), context or Context())
    changed = (apply(code, fix.edits) for finding in found for fix in finding.fixes)
    return [{line.strip() for line in text.splitlines()} for text in changed]


STRIDED = """
__device__ void total(float* part, float& v) {
    part[threadIdx.x] = v;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    v = part[0];
}
__global__ void scaled(const float* x, float* y, int n) {
    __shared__ float part[256];
    float sum = x[threadIdx.x];
    total(part, sum);
    if (threadIdx.x == 0) {
        part[0] = 1.0f / sum;
    }
    __syncthreads();
    float scale = part[0];
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        y[i] = x[i] * scale;
    }
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    scaled<<<4, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
"""
