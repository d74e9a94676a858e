"""MEM002: a row is copied into a fixed shared array that it doesn't fit in."""

from collections.abc import Iterator

from grader.records import Context, Finding, Fix
from grader.records.observed import observed, ran_clean
from grader.rules.proofs import confirm
from grader.rules.rule import Rule
from grader.source import Source
from grader.source.analysis.apart import past_the_end
from grader.source.analysis.host_code import refuses
from grader.source.analysis.walks import Case, cases, spans
from grader.source.flow import Access, Region
from grader.source.rewriting.shared_arrays import unstage
from grader.source.rewriting.small_arrays import enlarged

_VERBS = {"load": "reads", "store": "writes", "atomic": "writes"}


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for accesses past the end of fixed shared arrays, for long rows as well."""
    found: dict[tuple[str, str], tuple[str, Finding]] = {}
    usual, proof = cases(source, context), observed(context, "shared-oob")
    clean = {case.kernel for case in usual if not proof and ran_clean(context, case.kernel)}
    fixed = {case.kernel for case in usual if any(map(_is_fixed, case.walk.regions))}
    for case in cases(source, context, "main", "long") if fixed else ():
        long = case.sizes.name.startswith("long")
        # It ran at these sizes, or they are not what the program is given.
        other = (case.kernel in clean and not long) or (long and refuses(source, case))
        for access, cell, thread in (
            past_the_end(case) if case.kernel in fixed and not other else ()
        ):
            if _is_fixed(access.region):
                sure = case.sizes.complete and case.kernel not in clean
                made = _finding(case, access, (cell, thread), sure=sure, long=long)
                found.setdefault((case.kernel, access.region.name), (case.kernel, made))
    for finding in confirm(found.values(), proof, spans(source)):
        yield finding.model_copy(update={"severity": "error"}) if finding.evidence else finding


def _is_fixed(region: Region) -> bool:
    return region.space == "shared" and not region.dynamic


def _finding(case: Case, access: Access, at: tuple[int, int], *, sure: bool, long: bool) -> Finding:
    region, line, (cell, thread) = access.region, case.line(access.node), at
    name, cells, verb = region.name, region.cells or 0, _VERBS[access.kind]
    if long:
        message = (
            f"`{name}` has room for {cells} elements, and line {line} {verb} it with an index that follows the size of the input: "
            f"rows from {cells + 1} elements on go past its end"
        )
    else:
        where = "" if case.sizes.complete else "at sizes that nothing in the text rules out, "
        message = (
            f"{where}line {line} {verb} `{name}[{cell}]`, but the array has {cells} elements "
            f"(thread {thread} of {case.walk.threads} does so)"
        )
    return RULE.finding(
        case.place(access.node),
        message,
        severity="error" if sure else "warning",
        predicts="elsewhere" if long else None,
        fixes=_fixes(case, name, long=long),
        kernels=(case.kernel,),
        cause=f"shared-oob {case.kernel}",
    )


def _fixes(case: Case, name: str, *, long: bool) -> Iterator[Fix]:
    array = next((one for one in case.unit.shared if one.name == name), None)
    for kernel in case.unit.kernels if array is not None else ():
        if kernel.name == case.kernel and array is not None:
            yield from unstage(case.unit, kernel, array)
            yield from enlarged(case.unit, array, case.walk.threads) if not long else ()


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
