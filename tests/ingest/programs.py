"""A small answer and a reference, as material for transcripts."""

from __future__ import annotations

from grader.records import Sample, SampleFormat

CODE = '''\
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>
__global__ void k(float* x, int n) { int i = threadIdx.x; if (i < n) x[i] += 1; }
torch::Tensor f(torch::Tensor x) { k<<<1, 32>>>(x.data_ptr<float>(), 32); return x; }
"""

decl = "torch::Tensor f(torch::Tensor x);"
ext = load_inline(name="e", cpp_sources=decl, cuda_sources=src, functions=["f"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.f(x)
'''
OTHER = CODE.replace("+= 1", "+= 2")
REFERENCE = """\
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x)

def get_inputs():
    return [torch.rand(4, 4)]
"""


def indented(text: str, prefix: str) -> str:
    """Put a prefix before each line that isn't blank."""
    return "".join(prefix + line if line.strip() else line for line in text.splitlines(True))


def sample(text: str, form: SampleFormat = "transcript", **fields: str) -> Sample:
    """Return a sample of a text."""
    return Sample(id="s", origin="test", format=form, text=text, **fields)
