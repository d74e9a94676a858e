"""MEM006: more than 48 KB of dynamic shared memory without asking for it."""

from collections.abc import Iterator

from grader.records import Context, Evidence, Finding, Fix
from grader.records.observed import refused
from grader.rules.proofs import launch_cause
from grader.rules.rule import Rule
from grader.source import Source
from grader.source.analysis.host_code import refuses
from grader.source.analysis.walks import Case, cases
from grader.source.code_edits import fix
from grader.source.cuda_code import text
from grader.source.flow.scalar_types import SIZES
from grader.source.statements import insert_before, statement

DEFAULT, LARGEST = 49_152, 232_448
"""Bytes a block gets without asking, and the most that any GPU gives (sm_90)."""


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look at the bytes of each launch, with the kernel's fixed arrays."""
    seen: set[str] = set()
    proof, usual = refused(context, "shared-memory"), cases(source, context)
    dynamic = any(len(case.launch.call.config) > 2 for case in usual)
    static = {case.kernel: _static(case) for case in usual} if dynamic else {}
    for case in cases(source, context, "main", "odd", "long") if dynamic else ():
        total = (case.launch.shared or 0) + static.get(case.kernel, 0)
        long, most = case.sizes.name.startswith("long"), LARGEST if _asks(case) else DEFAULT
        fits = not case.launch.shared or total <= most or (long and refuses(source, case))
        if case.kernel not in seen and not fits:
            seen.add(case.kernel)
            yield _finding(case, total, most, proof, long=long)


def _static(case: Case) -> int:
    """Return the bytes of a kernel's fixed arrays, which are the same for all sizes."""
    fixed = (r for r in case.walk.regions if r.space == "shared" and not r.dynamic)
    return sum((region.cells or 0) * SIZES.get(region.type, 4) for region in fixed)


def _asks(case: Case) -> bool:
    """Whether host code sets the kernel's attribute."""
    return b"FuncSetAttribute" in case.unit.data


def _finding(
    case: Case, total: int, most: int, proof: tuple[Evidence, ...], *, long: bool
) -> Finding:
    call, elsewhere = case.launch.call, long and not proof
    if long:
        message = (
            f"the launch asks for shared memory in proportion to the input: once a row needs more than {most} "
            "bytes the kernel does not start"
        )
    elif total > LARGEST:
        message = f"the launch asks for {total} bytes of shared memory; no GPU gives a block more than {LARGEST}"
    else:
        message = (
            f"the launch asks for {total} bytes of shared memory; above {DEFAULT} the kernel does not start unless "
            "cudaFuncSetAttribute(..MaxDynamicSharedMemorySize..) was called, and it is not"
        )
    return RULE.finding(
        case.place(call.config[2].node if len(call.config) > 2 else call.node),
        message,
        severity="warning" if elsewhere else None,
        predicts="elsewhere" if elsewhere else None,
        evidence=proof,
        fixes=_asked_first(case) if most == DEFAULT else (),
        kernels=(case.kernel,),
        cause=launch_cause(case.kernel, proof),
    )


def _asked_first(case: Case) -> tuple[Fix, ...]:
    call = case.launch.call
    function = call.node.child_by_field_name("function")
    size = text(call.config[2].node) if len(call.config) > 2 else ""
    if function is None or not size:
        return ()
    line = f"cudaFuncSetAttribute({text(function)}, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)({size}));"
    return fix(
        "ask for the shared memory first", [insert_before(case.unit, statement(call.node), line)]
    )


_BAD = """
__global__ void fill(float* y) {
    extern __shared__ float s[];
    s[threadIdx.x] = threadIdx.x;
    y[threadIdx.x] = s[threadIdx.x];
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    fill<<<1, 256, 64 * 1024>>>(y.data_ptr<float>());
    return y;
}
"""
RULE = Rule(
    code="MEM006",
    name="dynamic-shared-over-48k-without-opt-in",
    summary="The launch asks for more than 48 KB of dynamic shared memory without the required opt-in, so the kernel never starts and "
    "the output is garbage.",
    why="A block gets 48 KB as a matter of course; more has to be asked for with `cudaFuncSetAttribute(kernel, "
    "cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)`, up to 99, 163 or 227 KB depending on the GPU. Otherwise the launch fails, "
    "and without a check of the error nobody notices.",
    bad=_BAD,
    good=_BAD.replace(
        "    fill",
        "    cudaFuncSetAttribute(fill, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024);\n"
        "    fill",
    ),
    detects=("text", "evidence"),
    guards="Sizes that can't be computed are left to the simulator. Where only long rows would need so much it is a warning, and nothing "
    "where the host compares the size.",
    fix="Inserts the call of cudaFuncSetAttribute.",
    check=check,
    predicts="launch-fails",
)
