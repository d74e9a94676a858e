"""MEM002: a row is copied into a fixed shared array that it doesn't fit in."""

from __future__ import annotations

from collections.abc import Iterator

from grader.records import Context, Finding, Fix, Severity
from grader.records.observed import observed, ran_clean
from grader.rules.proofs import confirm
from grader.rules.rule import Rule
from grader.source import Source
from grader.source.analysis.host_code import refuses
from grader.source.analysis.walks import Case, cases, spans
from grader.source.flow import Event
from grader.source.rewriting.shared_arrays import unstage
from grader.source.rewriting.small_arrays import enlarged


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for accesses past the end of fixed shared arrays, for long rows as well."""
    found = text_findings(source, context)
    for finding in confirm(found.values(), observed(context, "shared-oob"), spans(source)):
        yield finding.model_copy(update={"severity": "error"}) if finding.evidence else finding


def text_findings(source: Source, context: Context) -> dict[tuple[str, str], tuple[str, Finding]]:
    """Return the finding about each fixed array that is too small."""
    found: dict[tuple[str, str], tuple[str, Finding]] = {}
    clean = _clean(source, context)
    fixed = {
        case.kernel
        for case in cases(source, context)
        if any(r.space == "shared" and not r.dynamic for r in case.walk.regions)
    }
    for case in cases(source, context, "main", "long") if fixed else ():
        long = case.sizes.name.startswith("long")
        if case.kernel not in fixed or (long and refuses(source, case)):
            continue
        if case.kernel in clean and not long:
            continue  # it ran at these sizes, or they are not what the program is given
        for event in case.events("shared-oob"):
            region = event.region
            if region is not None and not region.dynamic:
                sure = case.sizes.complete and case.kernel not in clean
                severity: Severity = "error" if sure else "warning"
                finding = _finding(case, event, severity)
                found.setdefault((case.kernel, region.name), (case.kernel, finding))
    return found


def _clean(source: Source, context: Context) -> frozenset[str]:
    """Return the kernels that the simulator ran to their end without an access past such an array."""
    if observed(context, "shared-oob"):
        return frozenset()
    kernels = {case.kernel for case in cases(source, context)}
    return frozenset(kernel for kernel in kernels if ran_clean(context, kernel))


def _finding(case: Case, event: Event, severity: Severity) -> Finding:
    region = event.region
    name, cells = (region.name, region.cells or 0) if region is not None else ("", 0)
    line = case.line(event.node)
    verb = "writes" if event.data.get("access") == "write" else "reads"
    if case.sizes.name.startswith("long"):
        message = (
            f"`{name}` has room for {cells} elements, and line {line} {verb} it with an index that follows the size of the input: rows "
            f"from {cells + 1} elements on go past its end"
        )
    else:
        where = "" if case.sizes.complete else "at sizes that nothing in the text rules out, "
        message = (
            f"{where}line {line} {verb} `{name}[{event.cell}]`, but the array has {cells} elements "
            f"(thread {event.thread} of {case.walk.threads} is the first to do so)"
        )
    return RULE.finding(
        case.place(event.node),
        message,
        severity=severity,
        predicts="elsewhere" if case.sizes.name.startswith("long") else None,
        fixes=_fixes(case, name),
        kernels=(case.kernel,),
        cause=f"shared-oob {case.kernel}",
    )


def _fixes(case: Case, name: str) -> Iterator[Fix]:
    for kernel in case.unit.kernels:
        if kernel.name == case.kernel:
            for array in case.unit.shared:
                if array.name == name:
                    yield from unstage(case.unit, kernel, array)
                    if not case.sizes.name.startswith("long"):
                        yield from enlarged(case.unit, array, case.walk.threads)
                    return


_BAD = """
__global__ void centre(const float* x, float* y, int dim) {
    __shared__ float row[1024];
    for (int i = threadIdx.x; i < dim; i += blockDim.x) row[i] = x[blockIdx.x * dim + i];
    __syncthreads();
    for (int i = threadIdx.x; i < dim; i += blockDim.x) y[blockIdx.x * dim + i] = row[i] - row[0];
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    centre<<<x.size(0), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""
RULE = Rule(
    code="MEM002",
    name="data-larger-than-shared-array",
    severity="error",
    summary="A row of the input is copied into a fixed-size shared array that is too small for long rows; the kernel writes past its end.",
    why="A shared array's size is fixed when the kernel is compiled, the row's length is not. Past the end the kernel overwrites other "
    "shared variables or stops with an illegal access. Read the row from global memory twice, go over it in tiles, or check the "
    "length on the host.",
    bad=_BAD,
    good=_BAD.replace(
        "    auto", '    TORCH_CHECK(x.size(1) <= 1024, "rows of at most 1024");\n    auto'
    ),
    detects=("text", "evidence"),
    guards="Host code that compares the size with a number is believed: it refuses long rows or takes another way. What ran to its end "
    "on the simulator gets no more than a warning, about longer rows; so does what only shows at sizes that were assumed.",
    fix="Reads global memory where the array only held a copy of it; gives an array that has fewer elements than threads use "
    "the size that its own name for it says, or one element a warp or thread.",
    check=check,
)
