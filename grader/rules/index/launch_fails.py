"""IDX006: a launch that failed in a run."""

from collections.abc import Iterator

from grader.records import Context, Evidence, Finding
from grader.records.observed import kernel_of, observed
from grader.rules.proofs import launch_cause
from grader.rules.rule import Example, Rule
from grader.source import Source
from grader.source.analysis.walks import spans


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Report each kernel's failed launches once; findings about the text take them over."""
    kernels = spans(source)
    kept: dict[str, list[Evidence]] = {}
    for item in observed(context, "launch"):
        kept.setdefault(kernel_of(item, kernels), []).append(item)
    for kernel, items in kept.items():
        yield RULE.finding(
            items[0].place,
            items[0].text,
            evidence=items,
            kernels=(kernel,),
            cause=launch_cause(kernel, items),
        )


_CODE = """
__global__ void mark(float* y) {
    y[threadIdx.x] = 1.0f;
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    mark<<<x.size(0), 256>>>(y.data_ptr<float>());
    return y;
}
"""

RULE = Rule(
    code="IDX006",
    name="launch-fails",
    summary="The launch of a kernel fails, so nothing is computed and the output stays as it was.",
    why="A launch with a size of zero, too many threads, too much shared memory or too many registers is refused. The host code goes on "
    "unless it asks for the error.",
    bad=Example(
        _CODE,
        Context(
            evidence=(
                Evidence(
                    kind="simulator",
                    code="launch-error",
                    text="The launch of mark failed with cudaErrorInvalidConfiguration: the grid is empty.",
                    kernel="mark",
                ),
            )
        ),
    ),
    good=_CODE,
    detects=("evidence",),
    guards="Only what a run has shown; where MEM006, IDX002 or IDX003 explain it they take it over.",
    fix="Puts a grid's long axis into x, in the launch and in the kernel.",
    check=check,
    predicts="launch-fails",
)
