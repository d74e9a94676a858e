"""PRF004: the same data is read from global memory twice."""

from collections.abc import Iterator

from grader.records import Context, Finding
from grader.rules.rule import Rule, hosted
from grader.source import Source
from grader.source.analysis.walks import Case, cases
from grader.source.flow import Access


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for loads at the same addresses in two loops."""
    seen: set[str] = set()
    for case in cases(source, context):
        pair = _pair(case)
        if pair is not None and case.kernel not in seen:
            seen.add(case.kernel)
            first, second = pair
            yield RULE.finding(
                case.place(second.node),
                f"line {case.line(second.node)} reads `{second.region.name}` a second time, all of it, after line "
                f"{case.line(first.node)}: one pass over global memory more than needed",
                confidence="possible",
                kernels=(case.kernel,),
            )


def _pair(case: Case) -> tuple[Access, Access] | None:
    """Return two loads at the same addresses in different loops."""
    first: dict[str, list[Access]] = {}
    for access in case.walk.accesses:
        if (
            access.kind != "load"
            or not access.loops
            or access.loops[-1][1] != 0
            or access.offset is None
        ):
            continue
        for other in first.setdefault(access.region.name, []):
            same = other.offset == access.offset and case.stride(other) == case.stride(access) != 0
            if same and other.loops[-1][0] != access.loops[-1][0]:
                return other, access
        first[access.region.name].append(access)
    return None


_BAD = hosted("""
__global__ void norm(const float* x, float* y, int n) {
    float s = 0.0f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) s += x[i];
    for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = x[i] * s;
}
norm<<<1, 256>>>($x, $y, x.numel());
""")
RULE = Rule(
    code="PRF004",
    name="repeated-global-passes",
    severity="note",
    summary="The same data is read from global memory several times although it could be kept in registers or shared memory.",
    why="Every pass over data that no longer is in the cache costs the time of the first one. Keep what a thread has read in registers "
    "(a small array, unrolled) or in shared memory, where it fits.",
    bad=_BAD,
    good=_BAD.replace(
        "float s = 0.0f;\n"
        "    for (int i = threadIdx.x; i < n; i += blockDim.x) s += x[i];\n"
        "    for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = x[i] * s",
        "for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = x[i] * 2.0f",
    ),
    languages=("cuda",),
    guards="A second pass over rows that are still in the cache costs little, and very long rows leave no choice: a note.",
    check=check,
)
