"""SYN002: threads use shared memory without meeting in between."""

from collections.abc import Iterator

from grader.records import Context, Evidence, Finding, Place, Race
from grader.records.observed import observed
from grader.rules.causes import cause_of
from grader.rules.rule import Example, Rule
from grader.source import Source
from grader.source.analysis.apart import races, unfilled
from grader.source.analysis.races import joined, lines_of, of_one_warp
from grader.source.analysis.walks import cases
from grader.source.rewriting.barriers import separate


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for conflicting accesses of one barrier interval, by threads of different warps."""
    seen = observed(context, "race")
    for items in joined((*seen, *_too_early(source, context, seen))):
        if not of_one_warp(source, items):
            first = next((one for one in items if _reads_too_early(one)), items[0])
            others = [one for one in items if one is not first]
            yield RULE.finding(first.place, cause_of(first), evidence=(first, *others))
    yield from () if seen else _foretold(source, context)


def _foretold(source: Source, context: Context) -> Iterator[Finding]:
    """Yield the races that following a few threads shows, one an array."""
    found: dict[tuple[str, str], Finding] = {}
    for case in cases(source, context):
        for name, (first, second) in races(case).items():
            lines = sorted({case.line(first.node), case.line(second.node)})
            finding = RULE.finding(
                case.place(second.node),
                f"warps use `{name}` on line{'s' * (len(lines) > 1)} {' and '.join(map(str, lines))}, one of them to store, and do not "
                "meet in between: a `__syncthreads()` is missing",
                fixes=separate(case.unit, first.node, second.node),
                kernels=(case.kernel,),
            )
            found.setdefault((case.kernel, name), finding)
    yield from found.values()


def _reads_too_early(item: Evidence) -> bool:
    return isinstance(item.details, Race) and item.details.conflict == "write-read"


def _too_early(source: Source, context: Context, seen: tuple[Evidence, ...]) -> Iterator[Evidence]:
    """Yield reads of what nobody has written yet, on the lines of races: others write it, a barrier later."""
    every = cases(source, context)
    never = {case.line(read.node) for case in every for read in unfilled(case).values()}
    for item in observed(context, "uninit"):
        if item.place is not None and item.place.line in lines_of(seen) - never:
            yield item


_BAD = """
__global__ void blur(const float* x, float* y, int n) {
    __shared__ float s[256];
    int i = blockIdx.x * 256 + threadIdx.x;
    s[threadIdx.x] = i < n ? x[i] : 0.0f;
    int other = threadIdx.x ^ 64;
    if (i < n) y[i] = s[threadIdx.x] + s[other];
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    blur<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
"""
RULE = Rule(
    code="SYN002",
    name="missing-barrier",
    summary="One thread reads a shared value before another has surely written it, or overwrites it while others still read it.",
    why="The warps of a block run at their own pace. Only a barrier that all of them reach makes what one has stored visible to the "
    "others, and only a barrier keeps a fast warp from overwriting what a slow one still has to read. Without it the result depends "
    "on timing.",
    bad=Example(
        _BAD,
        Context(
            evidence=(
                Evidence(
                    kind="simulator",
                    code="race",
                    text="thread 0 reads what thread 64 wrote at line 5, with no synchronisation between",
                    place=Place(line=7, end_line=7),
                    related=(Place(line=5, end_line=5),),
                    details=Race(conflict="write-read"),
                ),
            )
        ),
    ),
    good=_BAD.replace("    int other", "    __syncthreads();\n    int other"),
    detects=("text", "evidence"),
    guards="Races of one warp are SYN005's, stores of one value SYN008's. The text foretells races where no run showed any; one that the "
    "simulator did not see in a kernel that it ran to its end is dropped.",
    fix="Puts `__syncthreads()` where all threads arrive between the two accesses, or at the end of the loop's turn; "
    "lets one thread store what all store to one cell.",
    check=check,
)
