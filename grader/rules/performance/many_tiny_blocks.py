"""PRF005: very many small blocks, one block for everything, or blocks of one thread."""

from collections.abc import Iterator
from math import prod

from grader.records import Context, Finding
from grader.rules.rule import Rule, hosted
from grader.source import Source
from grader.source.analysis.host_code import grid_node, origin, resolve
from grader.source.analysis.walks import Case, cases
from grader.source.flow.tree import Items, Number

MANY = 100_000
"""Blocks beyond which their start-up counts."""
ALONE = (
    "each block has one thread, so 31 of its warp's 32 lanes do nothing: give a row to a warp or a block, and let its "
    "threads share the loop"
)


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look at the number of blocks, their size, and what a thread of them does."""
    seen: set[str] = set()
    for case in cases(source, context, "full", "main"):
        if case.kernel in seen or case.walk.stopped:
            continue
        message = _tiny(case) or _single(source, context, case)
        place = case.place(grid_node(case))
        if not message and _is_lonely(case):
            message = ALONE
            place = case.place(resolve(case.launch.host, case.launch.call.config[1]).node)
        if message:
            seen.add(case.kernel)
            yield RULE.finding(place, message, kernels=(case.kernel,))


def _tiny(case: Case) -> str:
    """Say that a block of barriers works on a handful of elements."""
    loads = [a for a in case.walk.accesses if a.kind == "load" and case.stride(a) != 0]
    turns = max((a.loops[-1][1] for a in loads if a.loops), default=0)
    blocks = prod(size or 1 for size in case.launch.grid)
    if case.sizes.real:
        few = case.walk.threads <= 64 and turns <= 1 and blocks >= MANY
    else:
        few = all(size is None or size > 1 for size in case.launch.grid)
    barriers = len(case.walk.barriers) if loads and few else 0
    if barriers < 2:
        return ""
    count = f"{blocks} blocks" if case.sizes.real else "one block for each position of three axes"
    return (
        f"the launch makes {count} of at most {case.walk.threads} threads, each with {barriers} barriers for about one element a thread: "
        "starting and waiting cost more than the work"
    )


def _single(source: Source, context: Context, case: Case) -> str:
    """Say that one block walks over everything, however much that is, by the text and not by the host's loops."""
    if case.launch.grid != (1, 1, 1) or not _is_one(case, 0):
        return ""
    every = cases(source, context, "long")
    long = next((c for c in every if c.kernel == case.kernel), None)
    regions = (r for r in long.walk.regions if r.loads and r.tensor is not None) if long else ()
    roots = ((r.tensor, origin(r.tensor)) for r in regions)
    sizes = [t.numel or 0 for t, root in roots if t and root is not None and root.origin == "input"]
    walks = long is not None and any(access.loops for access in long.walk.accesses)
    if max(sizes, default=0) < MANY or not walks:
        return ""
    return (
        f"one block of {case.walk.threads} threads walks over the whole input, however large it is: one multiprocessor works and the "
        "others wait"
    )


def _is_lonely(case: Case) -> bool:
    """Whether the text gives each of many blocks one thread, which walks over what others could share."""
    walks = any(access.loops for access in case.walk.accesses)
    return case.walk.threads == 1 and walks and _is_one(case, 1) and not _is_one(case, 0)


def _is_one(case: Case, which: int) -> bool:
    """Whether the text says one block (0), or one thread (1)."""
    size = resolve(case.launch.host, case.launch.call.config[which])
    every = size.items if isinstance(size, Items) else (size,)
    return all(isinstance(one, Number) and one.value == 1 for one in every)


_BAD = hosted("""
__global__ void sums(const float* x, float* y, int n) {
    float s = 0.0f;
    for (int i = 0; i < n; ++i) s += x[blockIdx.x * n + i];
    y[blockIdx.x] = s;
}
dim3 threads(1);
auto y = torch::empty({x.size(0)}, x.options());
sums<<<x.size(0), threads>>>($x, $y, x.size(1));
""")
RULE = Rule(
    code="PRF005",
    name="many-tiny-blocks",
    severity="warning",
    summary="Millions of small blocks with little work each: start-up and barriers cost more than the arithmetic; or a single block for "
    "all of the data, or a single thread in each block.",
    why="Starting a block costs about as much as a few hundred instructions, and a barrier makes all of it wait. Give each block more to "
    "do (several rows, one a warp), or drop the block-wide cooperation. The opposite, one block for a large input, uses one "
    "multiprocessor of more than a hundred.",
    bad=_BAD,
    good=_BAD.replace("threads(1)", "threads(256)"),
    languages=("cuda",),
    guards="One block a row with long rows is good, and so are elementwise kernels without barriers. A second, small launch over a few "
    "partial results may have one block.",
    check=check,
)
