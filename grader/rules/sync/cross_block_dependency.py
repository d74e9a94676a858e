"""SYN006: a block uses what other blocks of the same launch compute."""

from collections.abc import Iterator

from grader.records import Context, Evidence, Finding
from grader.records.observed import observed
from grader.rules.proofs import once, settle
from grader.rules.rule import Rule, hosted
from grader.source import Source
from grader.source.analysis.walks import Case, cases
from grader.source.flow import Access
from grader.source.flow.tree import Call, walk

FENCES = frozenset({"__threadfence", "this_grid", "__threadfence_system", "load_acquire"})


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Compare what one block reads with what another writes."""
    possible = (case for case in cases(source, context) if _is_possible(case))
    found = (_finding(case, *pair) for case in possible if (pair := _dependence(case)))
    proof = (*_inside(context), *observed(context, "grid"))
    yield from settle(RULE, once(found), proof, source)


def _inside(context: Context) -> Iterator[Evidence]:
    """Yield the races, but of accesses that ran out of their own buffer into another one."""
    outside = {item.place.line for item in observed(context, "oob") if item.place is not None}
    for item in observed(context, "global-race"):
        lines = {place.line for place in (item.place, *item.related) if place is not None}
        if not lines & outside:
            yield item


def _is_possible(case: Case) -> bool:
    """Whether a buffer is written and read, by more than one block and without a fence."""
    parts = (part for f in case.flow.program.functions for part in walk(f.body))
    fenced = any(isinstance(part, Call) and part.name in FENCES for part in parts)
    both = (r.space == "global" and (r.stores or r.atomics) and r.loads for r in case.walk.regions)
    return any(n != 1 for n in case.launch.grid) and not fenced and any(both)


def _dependence(case: Case) -> tuple[Access, Access] | None:
    """Return a read of block 0 and the access of another block that writes there, if any."""
    x, y, _ = (n or 2 for n in case.launch.grid)
    block = (1, 0, 0) if x > 1 else (0, 1, 0) if y > 1 else (0, 0, 1)
    theirs = {
        (access.region.name, access.offset)
        for thread in (0, -1)
        for access in case.thread(thread, block).accesses
        if access.kind != "load" and access.sure and access.offset is not None
    }
    for thread in (0, -1):
        mine: dict[str, Access] = {}
        for access in case.thread(thread).accesses:
            name = access.region.name
            if access.kind != "load":
                mine.setdefault(name, access)
            elif name in mine and access.sure and (name, access.offset) in theirs:
                return access, mine[name]
    return None


def _finding(case: Case, read: Access, write: Access) -> Finding:
    line, how = case.line(read.node), "adds to" if write.kind == "atomic" else "stores to"
    return RULE.finding(
        case.place(read.node),
        f"line {line} reads `{read.region.name}`, to which every block {how} on line {case.line(write.node)} of the same launch: blocks run in no "
        "fixed order, so it sees what only some of them have added",
        kernels=(case.kernel,),
    )


_BAD = hosted("""
__global__ void share(const float* x, float* total, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd(total, x[i]);
        y[i] = x[i] / *total;
    }
}
auto total = torch::zeros({1}, x.options());
share<<<(n + 255) / 256, 256>>>($x, total.data_ptr<float>(), $y, n);
""")
RULE = Rule(
    code="SYN006",
    name="cross-block-dependency",
    summary="One block uses a result of another block in the same launch; blocks run in no fixed order, so it may read an old value.",
    why="There is no barrier between the blocks of a launch. A total that all blocks collect is complete when the launch has ended: what "
    "needs it belongs into a second kernel (launches of one stream run in order), into the last block that a counter with "
    "`__threadfence()` finds, or behind a grid barrier of a cooperative launch.",
    bad=_BAD,
    good=_BAD.replace("        y[i] = x[i] / *total;\n", ""),
    detects=("text", "evidence"),
    guards="A block that reads back only what it wrote itself is fine, and so are kernels with a fence, a grid barrier, or a grid of one "
    "block.",
    check=check,
    conditions="another order of the blocks",
)
