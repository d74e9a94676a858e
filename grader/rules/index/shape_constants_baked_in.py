"""IDX005: a launch or a kernel only fits the sizes of one example."""

from collections.abc import Iterator

from grader.records import Context, Finding, Fix, TensorSpec
from grader.rules.proofs import once
from grader.rules.rule import Rule, hosted
from grader.source import Source
from grader.source.analysis.host_code import refuses, resolve
from grader.source.analysis.walks import Case, cases, full_size_of, task_inputs
from grader.source.code_edits import fix
from grader.source.cuda_code import text
from grader.source.flow import Access, Walk
from grader.source.flow.tree import Binary, Call, Items

LARGE = 1024
"""From here on a size is no tile's."""


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for grids that leave a rest, and for constants that are the task's sizes."""
    yield from once(_short_grids(source, context))
    yield from _constants(source, context)


def _short_grids(source: Source, context: Context) -> Iterator[Finding]:
    for name in ("main", "full", "odd"):
        for case in cases(source, context, name):
            if not refuses(source, case, remainder=True) and (rest := _rest(case)):
                yield _truncated(case, *rest, workload=full_size_of(context, name))


def _rest(case: Case) -> tuple[Access, int, int] | None:
    """Return the last store to a result, and where it ends, when that is before the result does."""
    if (case.sizes.real and not case.sizes.complete) or case.launch.grid[1:] != (1, 1):
        return None
    block = case.walk
    stores = [a for a in block.accesses if a.kind != "load" and not block.stopped]
    if any(a.loops or a.kind == "atomic" for a in stores):
        return None
    for access, top in _tops(case, block).values() if stores else ():
        tensor = access.region.tensor
        regions = ((w, r) for w in case.flow.walks(case.sizes) for r in w.regions)
        mine = [(w, r) for w, r in regions if r.tensor is tensor]
        writers = sum(1 for w, r in mine if r.stores or r.escaped or w.stopped)
        numel = tensor.numel if tensor is not None else None
        fresh = tensor is not None and tensor.origin == "empty" and not tensor.touched
        if numel is not None and 0 <= top < numel - 1 and writers == 1 and fresh:
            return access, top + 1, numel
    return None


def _tops(case: Case, block: Walk) -> dict[int, tuple[Access, int]]:
    """Return each result's last store and the element it ends at; nothing where one is not plain."""
    returned = {id(tensor) for run in case.flow.host(case.sizes) for tensor in run.returned}
    tops: dict[int, tuple[Access, int]] = {}
    for access in case.thread(-1, case.last_block).accesses:
        tensor, offset = access.region.tensor, access.offset
        if access.kind == "load" or tensor is None or id(tensor) not in returned:
            continue
        plain = access.kind == "store" and access.sure and not access.loops
        first = case.thread(0, case.last_block).twin(access)
        if offset is None or not plain or first is None or first.offset is None:
            return {}
        if offset - first.offset != (block.threads - 1) * access.scale:
            return {}
        top = offset + access.scale - 1
        known = tops.get(id(tensor))
        tops[id(tensor)] = (access, top) if known is None or top > known[1] else known
    return tops


def _truncated(case: Case, access: Access, covered: int, numel: int, *, workload: str) -> Finding:
    config, blocks = case.launch.call.config, case.launch.grid[0] or 0
    expr = resolve(case.launch.host, config[0])
    short = blocks * case.walk.threads * access.scale <= covered and not access.loops
    where = expr.node if not isinstance(expr, Items) else config[0].node
    why = (
        f"the grid ends early ({blocks} blocks of {case.walk.threads} threads)"
        if short
        else "what is left over of the last vector, tile or turn is not handled"
    )
    return RULE.finding(
        case.place(where if short else access.node),
        f"{why}: of {numel} elements of `{access.region.name}` the last {numel - covered} are never written",
        severity="error" if case.sizes.real else "warning",
        predicts="unwritten-read",
        workload=workload,
        fixes=_round_up(case) if short else (),
        kernels=(case.kernel,),
    )


def _round_up(case: Case) -> tuple[Fix, ...]:
    expr = resolve(case.launch.host, case.launch.call.config[0])
    if isinstance(expr, Call) and expr.name == "dim3" and expr.args:
        expr = expr.args[0]
    elif isinstance(expr, Items) and expr.items:
        expr = resolve(case.launch.host, expr.items[0])
    if not isinstance(expr, Binary) or expr.op != "/":
        return ()
    count, by, node = text(expr.left.node), text(expr.right.node), expr.node
    edit = case.unit.edit(node.start_byte, node.end_byte, f"(({count}) + ({by}) - 1) / ({by})")
    return fix("round the number of blocks up", [edit])


def _constants(source: Source, context: Context) -> Iterator[Finding]:
    """Report named constants that equal a large size of the task and are never checked."""
    inputs = (i for role in ("nominal", "full") for i in task_inputs(context.task, role))
    sizes = {size for one in inputs if isinstance(one, TensorSpec) for size in one.shape}
    for case in cases(source, context)[:1] if max(sizes, default=0) > LARGE else ():
        program = case.flow.program
        named = [(m.name, m.expr, m.node) for m in program.macros.values()]
        named += [(c.name, c.init, c.node) for c in program.constants if c.const]
        for name, expr, node in named if not refuses(source, case) else ():
            value = getattr(expr, "value", None)
            if isinstance(value, int) and value > LARGE and value in sizes:
                yield RULE.finding(
                    case.place(node),
                    f"`{name}` = {value} is the size of the task's own input; with any other size the kernel computes something else or "
                    "runs out of bounds, and nothing checks it",
                )


_BAD = hosted("""
__global__ void twice(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * 2.0f;
}
int blocks = n / 256;
twice<<<blocks, 256>>>($x, $y, n);
""")
RULE = Rule(
    code="IDX005",
    name="shape-constants-baked-in",
    severity="warning",
    summary="Sizes of one example are built in: any other shape gives wrong results, leaves elements out, or writes out of bounds.",
    why="`n / 256` blocks leave the rest of the division undone, and a limit on the grid without a loop over it what is beyond; a `#define` of a size fits one input. Round up, `(n + 255) / 256`, "
    "guard the index, and pass sizes as parameters.",
    bad=_BAD,
    good=_BAD.replace("= n", "= (n + 255)"),
    languages=("cuda",),
    guards="Grids that a check of divisibility protects, grid-stride loops, and buffers that several launches fill are fine; so are tile "
    "sizes. An error where the task's own size leaves a rest.",
    fix="Rounds the number of blocks up.",
    check=check,
    explained_by=("MEM002",),
    predicts="elsewhere",
)
