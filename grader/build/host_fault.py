"""Detection of machine failures that look like a submission's: a missing tool, no memory, a full disk.

A guest's log proves nothing, since the submission may have written it. So a suspicious line only triggers a test: a
program that must build is built the same way. If that fails, the machine is at fault; if it succeeds, the submission is
built again, and that outcome counts.
"""

from __future__ import annotations

import re

from grader.build.driver.tools import UNABLE
from grader.records import Build, Submission

WALL = 300.0
"""Time limit in seconds of the program that must build; stock compilers take over a minute."""
PROGRAM = Submission(
    sample="a program that must build",
    code='''import torch
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
__global__ void scale(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i];
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    auto stream = at::cuda::getCurrentCUDAStream();
    scale<<<(n + 255) / 256, 256, 0, stream>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""
module = load_inline(
    name="known", cpp_sources="torch::Tensor run(torch::Tensor x);", cuda_sources=CUDA,
    functions=["run"],
)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return module.run(x)
''',
    line_map=(),
    how="written for this check",
)

_AT_A_LINE = re.compile(r"^\S[^:(\n]*(?:\(\d+\):|:\d+:)")
"""A compiler's message about a source line is never about the machine."""
_SIGNS = re.compile(
    r"\[code=12[67]\]"
    rf"|{re.escape(UNABLE)}"
    r"|No space left on device|Disk quota exceeded|Read-only file system|Input/output error"
    r"|error while loading shared libraries|Exec format error|Text file busy|cannot execute"
    r"|Cannot allocate memory|virtual memory exhausted|out of memory|std::bad_alloc"
    r"|died due to signal \d+|Killed|Too many open files|Resource temporarily unavailable"
    r"|can't start new thread"
    # The grader was updated during a run: its headers are new, its library old.
    r"|undefined symbol: kgsim_\w+"
    # Symbols of torch's own libraries are missing where not all of them were loaded.
    r"|undefined symbol: _ZNK?(?:5torch|3c10|2at)\d",
    re.IGNORECASE,
)


def seconds_of_second_try(wall: float, took: float) -> float:
    """Return the time limit of a retried build: the remaining time, but no less than the first attempt took.

    Otherwise the second could time out, which would be charged to the submission.
    """
    return max(wall - took, took)


def sign(build: Build) -> str:
    """Return the line of a failed build's log that points to the machine; empty where none does."""
    if build.status == "crashed" and "SIGKILL" in build.reason:
        return build.reason
    if build.status != "failed":
        return ""
    for line in build.log.splitlines():
        if _SIGNS.search(line) and not _AT_A_LINE.match(line):
            return line.strip()[:300]
    return ""
