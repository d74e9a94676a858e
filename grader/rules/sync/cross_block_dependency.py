"""SYN006: a block uses what other blocks of the same launch compute."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from grader.records import Context, Evidence, Finding
from grader.records.observed import observed
from grader.rules.proofs import settle
from grader.rules.rule import Rule
from grader.source import Source
from grader.source.analysis.walks import Case, cases, spans
from grader.source.flow import Access, Walk
from grader.source.flow.tree import Call, walk

FENCES = frozenset({"__threadfence", "this_grid", "__threadfence_system", "load_acquire"})


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Compare what one block reads with what another writes."""
    found: dict[str, tuple[str, Finding]] = {}
    for case in cases(source, context):
        if case.kernel not in found and _suspicious(case):
            pair = _dependence(case)
            if pair is not None:
                found[case.kernel] = (case.kernel, _finding(case, *pair))
    yield from settle(
        RULE, tuple(found.values()), (*_inside(context), *observed(context, "grid")), spans(source)
    )


def _inside(context: Context) -> Iterator[Evidence]:
    """Yield the races, but of accesses that ran out of their own buffer into another one."""
    outside = {item.place.line for item in observed(context, "oob") if item.place is not None}
    for item in observed(context, "global-race"):
        lines = {place.line for place in (item.place, *item.related) if place is not None}
        if not lines & outside:
            yield item


def _suspicious(case: Case) -> bool:
    """Whether a buffer is written and then read, by more than one block and without a fence."""
    grid = case.launch.grid
    if all(n == 1 for n in grid):
        return False
    functions = case.flow.program.functions
    if any(isinstance(p, Call) and p.name in FENCES for f in functions for p in walk(f.body)):
        return False
    return any(
        r.space == "global" and (r.stores or r.atomics) and r.loads for r in case.walk.regions
    )


def _dependence(case: Case) -> tuple[Access, Access] | None:
    """Return a read of block 0 and the access of another block that writes there, if any."""
    launch = case.launch
    other_index = (
        (1, 0, 0)
        if (launch.grid[0] or 2) > 1
        else (0, 1, 0)
        if (launch.grid[1] or 1) > 1
        else (0, 0, 1)
    )
    other = case.flow.block(case.walk, other_index)
    writes = _touched(other, "store", "atomic")
    mine = _first_writes(case.walk)
    for access in case.walk.accesses:
        if access.kind != "load" or access.offsets is None or not access.sure:
            continue
        wrote = mine.get(access.region.name)
        if wrote is None or access.order < wrote.order:
            continue
        theirs = writes.get(access.region.name, set())
        if theirs & {int(n) for n in np.unique(access.offsets[access.mask])}:
            return access, wrote
    return None


def _touched(block: Walk, *kinds: str) -> dict[str, set[int]]:
    out: dict[str, set[int]] = {}
    for access in block.accesses:
        if access.kind in kinds and access.offsets is not None and access.sure:
            cells = out.setdefault(access.region.name, set())
            cells.update(int(n) for n in np.unique(access.offsets[access.mask]))
    return out


def _first_writes(block: Walk) -> dict[str, Access]:
    out: dict[str, Access] = {}
    for access in block.accesses:
        if access.kind in {"store", "atomic"}:
            out.setdefault(access.region.name, access)
    return out


def _finding(case: Case, read: Access, write: Access) -> Finding:
    name = read.region.name
    line = case.line(read.node)
    how = "adds to" if write.kind == "atomic" else "stores to"
    return RULE.finding(
        case.place(read.node),
        f"line {line} reads `{name}`, to which every block {how} on line {case.line(write.node)} of the same launch: blocks run in no "
        "fixed order, so it sees what only some of them have added",
        kernels=(case.kernel,),
    )


RULE = Rule(
    code="SYN006",
    name="cross-block-dependency",
    severity="error",
    summary="One block uses a result of another block in the same launch; blocks run in no fixed order, so it may read an old value.",
    why="There is no barrier between the blocks of a launch. A total that all blocks collect is complete when the launch has ended: what "
    "needs it belongs into a second kernel (launches of one stream run in order), into the last block that a counter with "
    "`__threadfence()` finds, or behind a grid barrier of a cooperative launch.",
    bad="""
__global__ void share(const float* x, float* total, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd(total, x[i]);
        y[i] = x[i] / *total;
    }
}
torch::Tensor run(torch::Tensor x) {
    auto total = torch::zeros({1}, x.options());
    auto y = torch::empty_like(x);
    int n = x.numel();
    share<<<(n + 255) / 256, 256>>>(
        x.data_ptr<float>(), total.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
""",
    good="""
__global__ void collect(const float* x, float* total, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(total, x[i]);
}
__global__ void divide(const float* x, const float* total, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] / *total;
}
torch::Tensor run(torch::Tensor x) {
    auto total = torch::zeros({1}, x.options());
    auto y = torch::empty_like(x);
    int n = x.numel();
    collect<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), total.data_ptr<float>(), n);
    divide<<<(n + 255) / 256, 256>>>(
        x.data_ptr<float>(), total.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
""",
    detects=("text", "evidence"),
    guards="A block that reads back only what it wrote itself is fine, and so are kernels with a fence, a grid barrier, or a grid of one "
    "block.",
    fix="",
    check=check,
    conditions="another order of the blocks",
)
