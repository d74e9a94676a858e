"""IDX002: the second or third size of a grid passes 65535."""

from collections.abc import Iterator

from grader.records import Context, Finding
from grader.records.observed import refused
from grader.rules.proofs import launch_cause
from grader.rules.rule import Rule
from grader.source import Source
from grader.source.analysis.host_code import grid_node
from grader.source.analysis.walks import Case, cases, full_size_of

LIMIT = 65_535


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look at the grid's second and third size, and where they come from."""
    found: dict[str, Finding] = {}
    proof = refused(context, "grid")
    for name in ("main", "full"):
        for case in cases(source, context, name):
            over = [k for k in (1, 2) if (case.launch.grid[k] or 0) > LIMIT]
            if over and case.sizes.complete and case.kernel not in found:
                found[case.kernel] = RULE.finding(
                    case.place(grid_node(case)),
                    f"the grid's {'xyz'[over[0]]} size is {case.launch.grid[over[0]]} at the task's size, and may be at most {LIMIT}: the launch fails",
                    severity="error",
                    evidence=proof,
                    workload=full_size_of(context, name),
                    kernels=(case.kernel,),
                    cause=launch_cause(case.kernel, proof),
                )
    odd = {case.kernel: case for case in cases(source, context, "odd")}
    for case in cases(source, context):
        if case.kernel in odd and case.kernel not in found:
            for finding in _of_inputs(case, odd[case.kernel]):
                found[case.kernel] = finding
    yield from found.values()


def _of_inputs(case: Case, odd: Case) -> Iterator[Finding]:
    """Report a grid size that is a size of the input itself, for two different inputs."""
    dims: dict[str, int] = {}
    for k in (1, 2):
        one, two = case.launch.grid[k], odd.launch.grid[k]
        axes = _axes(case, one) & _axes(odd, two)
        if one is not None and one != two and one > 1 and axes:
            dims["xyz"[k]] = min(axes)
    if dims:
        what = "size is a size" if len(dims) == 1 else "sizes are sizes"
        axes_said = f"(dimension{'s' * (len(dims) > 1)} {' and '.join(map(str, dims.values()))})"
        yield RULE.finding(
            case.place(grid_node(case)),
            f"the grid's {' and '.join(dims)} {what} of the input {axes_said}; only x may pass {LIMIT}, so the launch fails from {LIMIT + 1} on",
            severity="warning" if max(dims.values()) >= 2 else "note",
            predicts="elsewhere",
            kernels=(case.kernel,),
        )


def _axes(case: Case, size: int | None) -> set[int]:
    """Return the axes of the tensors that a kernel gets on which they have this size."""
    shapes = (tensor.sizes for tensor in case.tensors if tensor.sizes)
    return {axis for shape in shapes for axis, n in enumerate(shape) if n == size}


_BAD = """
__global__ void mark(float* y, int h, int w) {
    y[(blockIdx.x * h + blockIdx.y) * w + blockIdx.z] = 1.0f;
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n = x.size(0), c = x.size(1), h = x.size(2), w = x.size(3);
    dim3 grid(n * c, h, w);
    mark<<<grid, 1>>>(y.data_ptr<float>(), h, w);
    return y;
}
"""
RULE = Rule(
    code="IDX002",
    name="grid-dimension-over-limit",
    severity="warning",
    summary="The second and third grid sizes may be at most 65535; a larger input makes the launch fail.",
    why="Only `gridDim.x` goes up to 2147483647. A size of the data in y or z works until an input has more: then the launch fails, and "
    "nothing is computed. Put the large axis into x, or flatten.",
    bad=_BAD,
    good=_BAD.replace("grid(n * c, h, w)", "grid(n * c * h * w)"),
    detects=("text", "evidence"),
    guards="Sizes divided by a tile, and batch or channel counts (a note), stay far from the limit. An error where the task's own size "
    "passes it.",
    fix="Exchanges the long axis with x, in the launch and in the kernel.",
    check=check,
    predicts="launch-fails",
)
