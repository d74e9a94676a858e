"""IDX013: a Triton kernel asks its place on an axis that the grid of its launch doesn't have."""

from __future__ import annotations

from collections.abc import Iterator

from grader.records import Context, Evidence, Finding, UnwrittenOutput
from grader.records.observed import observed_evidence, wrong_results
from grader.rules.rule import Example, Rule
from grader.source import Source
from grader.source.analysis.triton import launches
from grader.source.analysis.triton_axes import axes_given, axes_used

AXES = ("first", "second", "third")


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Compare the axes that kernels ask for with those of their grids, where results are wrong or unwritten."""
    unwritten = observed_evidence(context, "unwritten")
    if not unwritten and not wrong_results(context):
        return
    for launch in launches(source):
        given, used = axes_given(launch), axes_used(launch.kernel)
        beyond = [axis for axis in sorted(used) if given is not None and given <= axis < len(AXES)]
        if beyond:
            line = source.place(used[beyond[0]]).line
            yield RULE.finding(
                source.place(launch.grid),
                f"the grid has {given} {'axis' if given == 1 else 'axes'}, and line {line} asks for the place on the "
                f"{AXES[beyond[0]]}: `tl.program_id({beyond[0]})` is 0 in every program, so all blocks but the "
                "first along that axis are left out",
                evidence=unwritten,
                kernels=(launch.kernel.name,),
                cause="unwritten" if unwritten else "",
                root_cause=True,
            )


_CODE = """
import torch
import triton
import triton.language as tl

@triton.jit
def copy_kernel(x_ptr, y_ptr, M, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * N + cols, mask=cols < N)
    tl.store(y_ptr + row * N + cols, x, mask=cols < N)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        M, N = x.shape
        copy_kernel[(M,)](x, y, M, N, BLOCK=64)
        return y
"""
RULE = Rule(
    code="IDX013",
    name="program-id-beyond-the-grid",
    severity="error",
    summary="A Triton kernel asks its place on an axis that the grid doesn't have.",
    why="Where a grid has fewer axes than a kernel asks for, `tl.program_id` of the others is 0 in every program. "
    "Each axis that the kernel cuts needs its count of blocks in the grid: `(M, triton.cdiv(N, BLOCK))`.",
    bad=Example(
        _CODE,
        Context(
            evidence=(
                Evidence(
                    kind="simulator",
                    code="unwritten-output",
                    text="192 of the 256 bytes of the result were never written",
                    details=UnwrittenOutput(output=0, missing=192, size=256),
                ),
            )
        ),
    ),
    good=_CODE.replace("(M,)", "(M, triton.cdiv(N, 64))"),
    detects=("evidence",),
    guards="Only where a run showed a result that is wrong or unwritten, and the grid is written as a tuple.",
    fix="Adds the axis: blocks of what the kernel compares its index with.",
    check=check,
    predicts="wrong-values",
    languages=("triton",),
)
