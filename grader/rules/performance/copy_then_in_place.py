"""PRF003: the input is cloned, then changed in place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from grader.records import Context, Finding
from grader.rules.rule import Rule
from grader.source.analysis.host_code import global_regions
from grader.source.analysis.walks import cases

if TYPE_CHECKING:
    from grader.source import Source


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for clones that a kernel loads and stores."""
    seen: set[int] = set()
    for case in cases(source, context):
        buffers = list(global_regions(case))
        for region in buffers:
            tensor = region.tensor
            if tensor is None or tensor.origin != "clone" or tensor.node.id in seen:
                continue
            others = [r for r in buffers if r is not region and r.stores]
            if region.stores and region.loads and not others:
                seen.add(tensor.node.id)
                yield RULE.finding(
                    case.place(tensor.node),
                    f"the data is copied here and then changed in place by `{case.kernel}`: the "
                    "copy is one more read and one "
                    "more write of all of it, which an output of its own would save",
                    kernels=(case.kernel,),
                )


RULE = Rule(
    code="PRF003",
    name="copy-then-in-place",
    severity="warning",
    summary="The input is cloned first and then changed in place; that adds a full read and a full "
    "write of the data.",
    why="Read from the input and write to a fresh tensor from torch::empty_like: the clone's read"
    " and write of the whole data fall away.",
    bad="""
__global__ void scale(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = x[i] * 2.0f;
}
torch::Tensor run(torch::Tensor x) {
    auto y = x.clone();
    scale<<<(x.numel() + 255) / 256, 256>>>(y.data_ptr<float>(), x.numel());
    return y;
}
""",
    good="""
__global__ void scale(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * 2.0f;
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    scale<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
""",
    detects=("text",),
    languages=("cuda",),
    guards="A clone of which only a part is rewritten is right. Only a kernel that both loads and "
    "stores the copy, and nothing else of its size, is reported.",
    fix="",
    check=check,
)
