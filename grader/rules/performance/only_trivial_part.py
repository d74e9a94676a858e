"""PRF013: the heavy operation still runs in PyTorch."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.records import Context, Finding
from grader.rules.rule import Rule
from grader.source import Source, nodes_under
from grader.source.analysis.extension_use import holders, refers, uses_operators
from grader.source.flow import flow
from grader.source.flow.tree import Loop, walk
from grader.source.python_code import PythonCode, python_code

HEAVY = (
    "conv",
    "linear",
    "matmul",
    "bmm",
    "mm",
    "einsum",
    "baddbmm",
    "addmm",
    "scaled_dot_product",
)
LAYERS = ("Conv", "Linear", "LSTM", "GRU", "MultiheadAttention", "Bilinear")


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for heavy torch operators in forward beside kernels without a loop."""
    code = python_code(source)
    kernels = [k for unit in source.cuda for k in flow(unit).program.kernels]
    if (
        code is None
        or not kernels
        or not (context.launches or _extension_is_called(source, code))
        or any(isinstance(p, Loop) for k in kernels for p in walk(k.body))
    ):
        return
    layers = {
        target.attr
        for node in code.of(ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Attribute)
        and isinstance(node.value, ast.Call)
        and code.canonical(node.value.func).rpartition(".")[2].startswith(LAYERS)
    }
    for function in code.reached:
        for node in nodes_under(function):
            if isinstance(node, ast.Call) and _heavy(code.canonical(node.func), node, layers):
                yield RULE.finding(
                    source.place(node),
                    "the heavy part still runs in PyTorch here; the custom kernels only go over single elements, so there is little to "
                    "gain",
                    severity="note",
                )
                return


def _extension_is_called(source: Source, code: PythonCode) -> bool:
    """Whether forward reaches the extension; where it does not, CHT003 is what matters."""
    names = holders(source, code)
    called = any(refers(node, names) for function in code.reached for node in code.live(function))
    return not names or called or uses_operators(code)


def _heavy(name: str, node: ast.Call, layers: set[str]) -> bool:
    if isinstance(node.func, ast.Attribute) and node.func.attr in layers:
        return isinstance(node.func.value, ast.Name) and node.func.value.id == "self"
    first, _, last = name.rpartition(".")
    return first.startswith("torch") and last.startswith(HEAVY)


RULE = Rule(
    code="PRF013",
    name="only-trivial-part-in-cuda",
    severity="warning",
    summary="The heavy operation still runs in PyTorch; the custom kernel only does a cheap step, so little can be gained.",
    why="A convolution or a matrix product takes nearly all of the time of a layer. A kernel for "
    "the activation behind it saves one pass over the output at most.",
    bad="""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline
ext = load_inline(name="e", cpp_sources="torch::Tensor run(torch::Tensor x);", functions=["run"],
                  cuda_sources='''
__global__ void relu(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] > 0.0f ? x[i] : 0.0f;
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    relu<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
''')
class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
    def forward(self, x):
        return ext.run(self.conv(x))
""",
    good="""
__global__ void relu(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] > 0.0f ? x[i] : 0.0f;
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    relu<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
""",
    detects=("text",),
    languages=("cuda",),
    guards="Fusing what follows a convolution or a product is a legitimate design where the task "
    "allows it: a note there. Views and allocations don't count. Silent where forward never reaches the kernels.",
    fix="",
    check=check,
)
