"""API003: launches without a check, on the default stream, without a device guard."""

from collections.abc import Iterator

from grader.records import Context, Finding
from grader.rules.rule import Rule
from grader.source import Launch, Source, Unit
from grader.source.cuda_code import cuda_code, text

CHECKS = {"cudaGetLastError", "cudaPeekAtLastError", "C10_CUDA_KERNEL_LAUNCH_CHECK",
          "AT_CUDA_CHECK", "C10_CUDA_CHECK", "CUDA_CHECK"}  # fmt: skip


def check(source: Source, _context: Context) -> Iterator[Finding]:
    """Say once what the launches of a submission leave out."""
    launches = [(unit, launch) for unit in source.cuda for launch in unit.launches]
    if not launches:
        return
    missing: list[str] = []
    unchecked = [pair for pair in launches if not _checked(*pair)]
    streamless = [pair for pair in launches if _default_stream(pair[1])]
    if unchecked:
        missing.append("no launch is checked for errors"
                       if len(unchecked) == len(launches)
                       else f"{len(unchecked)} of {len(launches)} are unchecked")  # fmt: skip
    if streamless:
        missing.append("kernels run on the default stream, not on PyTorch's current one")
    if not missing:
        return
    unit, launch = (unchecked or streamless)[0]
    yield RULE.finding(
        unit.place(launch.node),
        "; ".join(missing) + ": this hurts in some programs only",
        folded=True,
    )


def _checked(unit: Unit, launch: Launch) -> bool:
    """Whether some error check follows a launch in its function."""
    end = launch.host_function.node.end_byte if launch.host_function else len(unit.data)
    code = cuda_code(unit)
    wrapping = {
        text(node.child_by_field_name("name"))
        for node in code.of("preproc_function_def")
        if any(check in text(node.child_by_field_name("value")) for check in CHECKS)
    }
    return any(
        (call.last in CHECKS or call.last in wrapping)
        and launch.node.end_byte <= call.node.start_byte < end
        for call in code.calls
    )


def _default_stream(launch: Launch) -> bool:
    return launch.stream is None or text(launch.stream) in {"0", "nullptr", "NULL"}


_BAD = """
__global__ void k(float* y) { y[threadIdx.x] = 1.0f; }
torch::Tensor f(torch::Tensor x) {
    k<<<1, 32>>>(x.data_ptr<float>());
    return x;
}
"""
RULE = Rule(
    code="API003",
    name="launch-hygiene",
    severity="note",
    summary="Launch errors are not reported, or PyTorch's current stream is ignored; this only hurts in some programs.",
    why="A launch that fails says nothing unless it is asked, and the output is then whatever was in memory. On another stream than "
    "PyTorch's the order of operations is not given.",
    bad=_BAD,
    good=_BAD.replace("__global__", "#include <ATen/cuda/CUDAContext.h>\n__global__").replace(
        ">>>(x.data_ptr<float>()",
        ", 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>());\n"
        "    C10_CUDA_KERNEL_LAUNCH_CHECK(",
    ),
    languages=("cuda",),
    guards="Nearly every submission has it: said once and folded.",
    check=check,
    predicts="nothing",
)
