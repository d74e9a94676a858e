"""PRF011: a buffer is filled with zeros that are overwritten anyway."""

from collections.abc import Iterator

from grader.records import Context, Finding
from grader.rules.rule import Rule, hosted
from grader.source import Source
from grader.source.analysis.host_code import global_regions, made_by
from grader.source.analysis.walks import Case, cases
from grader.source.flow import Region


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for zeros that one plain store for each element replaces."""
    seen: set[int] = set()
    for case in cases(source, context):
        for region in global_regions(case):
            tensor = region.tensor
            if (
                tensor is None
                or tensor.origin != "zeros"
                or tensor.node.id in seen
                or not _complete(case, region)
            ):
                continue
            seen.add(tensor.node.id)
            yield RULE.finding(
                case.place(tensor.node),
                f"`{region.name}` is filled with zeros, and `{case.kernel}` then stores every element of it: one write of the whole "
                "buffer for nothing",
                fixes=made_by(case, tensor, "zeros", "empty", "do not fill it first"),
                kernels=(case.kernel,),
            )


def _complete(case: Case, region: Region) -> bool:
    if region.loads or region.atomics or case.walk.stopped:
        return False
    stores = (one for one in case.walk.accesses if one.kind == "store" and one.region is region)
    first = next((one for one in stores if one.offset is not None and one.sure), None)
    last = case.thread(-1).twin(first) if first is not None else None
    if first is None or last is None or last.offset is None:
        return False
    return first.offset == 0 and last.offset == case.walk.threads - 1 and case.stride(first) == 1


_BAD = hosted("""
__global__ void twice(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * 2.0f;
}
auto y = torch::zeros_like(x);
twice<<<(x.numel() + 255) / 256, 256>>>($x, $y, x.numel());
""")
RULE = Rule(
    code="PRF011",
    name="avoidable-temporaries-or-fills",
    severity="note",
    summary="Extra full-size buffers are filled with zeros although the kernel overwrites them anyway.",
    why="torch::zeros writes the whole buffer once before the kernel writes it again. torch::empty does not.",
    bad=_BAD,
    good=_BAD.replace("zeros_like", "empty_like"),
    languages=("cuda",),
    guards="Zeros that an atomic adds to, that a kernel reads, or that are only partly overwritten "
    "are needed; only stores at the thread's number in the grid count as complete.",
    fix="Makes the buffer without filling it.",
    check=check,
)
