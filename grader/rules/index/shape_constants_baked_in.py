"""IDX005: a launch or a kernel only fits the sizes of one example."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from grader.records import Context, Finding, Fix, TensorSpec
from grader.rules.rule import Rule
from grader.source import Source
from grader.source.analysis.host_code import refuses, resolve
from grader.source.analysis.walks import Case, cases, task_inputs
from grader.source.code_edits import fix
from grader.source.cuda_code import text
from grader.source.flow import Access, Walk
from grader.source.flow.tree import Binary, Call, Items


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for grids that leave a rest, and for constants that are the task's sizes."""
    seen: set[str] = set()
    for case in cases(source, context, "main", "odd"):
        if case.kernel in seen or refuses(source, case, remainder=True):
            continue
        rest = _rest(case)
        if rest is not None:
            seen.add(case.kernel)
            yield _truncated(case, *rest)
    yield from _constants(source, context)


def _rest(case: Case) -> tuple[Access, int, int] | None:
    """Return the last store to a result, and where it ends, when that is before the result does."""
    grid = case.launch.grid
    if (case.sizes.real and not case.sizes.complete) or grid[1:] != (1, 1):
        return None
    block = case.walk
    stores = [a for a in block.accesses if a.kind != "load" and not block.stopped]
    if not stores or any(a.loops or a.kind == "atomic" for a in stores):
        return None
    tops = _tops(case, block)
    if tops is None:
        return None
    for access, top in tops.values():
        tensor = access.region.tensor
        numel = tensor.numel if tensor is not None else None
        writers = sum(
            1
            for other in case.flow.walks(case.sizes)
            for r in other.regions
            if r.tensor is tensor and (r.stores or r.escaped or other.stopped)
        )
        fresh = tensor is not None and tensor.origin == "empty" and not tensor.touched
        if numel is not None and 0 <= top < numel - 1 and writers == 1 and fresh:
            return access, top + 1, numel
    return None


def _tops(case: Case, block: Walk) -> dict[int, tuple[Access, int]] | None:
    """Return each result's last store and the element it ends at; None where one is not plain."""
    runs = case.flow.host(case.sizes)
    returned = {id(tensor) for run in runs for tensor in run.returned}
    tops: dict[int, tuple[Access, int]] = {}
    linear = np.arange(block.threads)
    for access in _of_both(case, block):
        tensor = access.region.tensor
        if access.kind == "load" or tensor is None or id(tensor) not in returned:
            continue
        if access.offsets is None or not access.sure or access.kind == "atomic" or access.loops:
            return None
        if not access.mask.any():
            continue
        if int(access.mask.sum()) < 2:
            return None
        first = access.offsets - access.offsets[0]
        if not bool((first == linear * access.scale)[access.mask].all()):
            return None
        top = int(access.offsets[access.mask].max(initial=-1)) + access.scale - 1
        if id(tensor) not in tops or top > tops[id(tensor)][1]:
            tops[id(tensor)] = (access, top)
    return tops


def _of_both(case: Case, block: Walk) -> Iterator[Access]:
    """Yield the accesses of the first block, then those of the last."""
    yield from block.accesses
    yield from (case.flow.last_block(block) or block).accesses


def _truncated(case: Case, access: Access, covered: int, numel: int) -> Finding:
    config = case.launch.call.config
    expr = resolve(case.launch.host, config[0])
    blocks = case.launch.grid[0] or 0
    short = blocks * case.walk.threads * access.scale <= covered and not access.loops
    where = expr.node if not isinstance(expr, Items) else config[0].node
    why = (
        f"the grid is rounded down ({blocks} blocks of {case.walk.threads} threads)"
        if short
        else "what is left over of the last vector, tile or turn is not handled"
    )
    return RULE.finding(
        case.place(where if short else access.node),
        f"{why}: of {numel} elements of `{access.region.name}` the last {numel - covered} are never written",
        severity="error" if case.sizes.real else "warning",
        predicts="unwritten-read",
        fixes=_round_up(case) if short else (),
        kernels=(case.kernel,),
    )


def _round_up(case: Case) -> Iterator[Fix]:
    expr = resolve(case.launch.host, case.launch.call.config[0])
    if isinstance(expr, Call) and expr.name == "dim3" and expr.args:
        expr = expr.args[0]
    elif isinstance(expr, Items) and expr.items:
        expr = resolve(case.launch.host, expr.items[0])
    if isinstance(expr, Binary) and expr.op == "/":
        count, block = text(expr.left.node), text(expr.right.node)
        node = expr.node
        yield from fix(
            "round the number of blocks up",
            [
                case.unit.edit(
                    node.start_byte, node.end_byte, f"(({count}) + ({block}) - 1) / ({block})"
                )
            ],
        )


def _constants(source: Source, context: Context) -> Iterator[Finding]:
    """Report named constants above 1024 that equal a size of the task and are never checked."""
    sizes = {
        size
        for role in ("nominal", "full")
        for item in task_inputs(context.task, role)
        if isinstance(item, TensorSpec)
        for size in item.shape
        if size > 1024
    }
    for case in cases(source, context) if sizes else ():
        if refuses(source, case):
            return
        program = case.flow.program
        named = [(m.name, m.expr, m.node) for m in program.macros.values()]
        named += [(c.name, c.init, c.node) for c in program.constants if c.const]
        for name, expr, node in named:
            value = getattr(expr, "value", None)
            if isinstance(value, int) and value in sizes:
                yield RULE.finding(
                    case.place(node),
                    f"`{name}` = {value} is the size of the task's own input; with any other size the kernel computes something else or "
                    "runs out of bounds, and nothing checks it",
                )
        return


_BAD = """
__global__ void twice(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * 2.0f;
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    int blocks = n / 256;
    twice<<<blocks, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""
RULE = Rule(
    code="IDX005",
    name="shape-constants-baked-in",
    severity="warning",
    summary="Sizes of one example are built in: any other shape gives wrong results, leaves elements out, or writes out of bounds.",
    why="`n / 256` blocks leave the rest of the division undone; a `#define` of a size fits one input. Round up, `(n + 255) / 256`, "
    "guard the index, and pass sizes as parameters.",
    bad=_BAD,
    good=_BAD.replace("= n", "= (n + 255)"),
    detects=("text",),
    languages=("cuda",),
    guards="Grids that a check of divisibility protects, grid-stride loops, and buffers that several launches fill are fine; so are tile "
    "sizes. An error where the task's own size leaves a rest.",
    fix="Rounds the number of blocks up.",
    check=check,
    explained_by=("MEM002",),
    predicts="elsewhere",
)
