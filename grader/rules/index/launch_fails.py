"""IDX006: a launch asks for more than a GPU gives, or failed in a run."""

import math
import re
from collections.abc import Iterable, Iterator, Sequence

from tree_sitter import Node

from grader.records import Context, Evidence, Finding, Fix
from grader.records.observed import kernel_of, observed_evidence, refused_launches
from grader.rules.page_file import read_page
from grader.rules.proofs import launch_cause, once
from grader.rules.rule import Rule
from grader.source import Source
from grader.source.analysis.host_code import grid_node, refuses, resolve
from grader.source.analysis.walks import Case, cases, full_size_of, spans
from grader.source.code_edits import fix
from grader.source.cpp import Items
from grader.source.cuda_code import text
from grader.source.scalar_types import SIZES
from grader.source.statements import insert_before, statement

GRID, MOST, REGISTERS = 65_535, 1024, 65_536
"""The most blocks along y and z, the most threads a block, and the registers that they share."""
SHARED, LARGEST = 49_152, 232_448
"""Bytes of shared memory that a block gets without asking, and the most that any GPU gives (sm_90)."""
NAME = re.compile(r"[A-Za-z_]\w*")


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Compare what launches ask for with what there is, and report each kernel's failed launches once."""
    yield from once((*_grids(source, context), *_grids_of_inputs(source, context)))
    yield from once(_blocks(source, context))
    yield from once(_shared(source, context))
    failed: dict[str, list[Evidence]] = {}
    for item in observed_evidence(context, "launch"):
        failed.setdefault(kernel_of(item, spans(source)), []).append(item)
    for kernel, items in failed.items():
        cause = launch_cause(kernel, items)
        yield RULE.finding(
            items[0].place, items[0].text, evidence=items, kernels=(kernel,), cause=cause
        )


def _over(
    case: Case,
    node: Node,
    message: str,
    proof: Sequence[Evidence],
    *,
    elsewhere: bool = False,
    at: str = "",
    fixes: Iterable[Fix] = (),
) -> Finding:
    """Return the finding that a launch passes a limit; it explains why the launch failed in a run."""
    return RULE.finding(
        case.place(node),
        message,
        severity="warning" if elsewhere else None,
        predicts="elsewhere" if elsewhere else None,
        evidence=proof,
        fixes=fixes,
        workload=at,
        kernels=(case.kernel,),
        cause=launch_cause(case.kernel, proof),
        root_cause=bool(proof),
    )


# grids


def _grids(source: Source, context: Context) -> Iterator[Finding]:
    """Yield the second and third sizes of grids that pass the limit at the task's sizes."""
    proof = refused_launches(context, "grid")
    for name in ("main", "full"):
        for case in cases(source, context, name):
            over = [k for k in (1, 2) if (case.launch.grid[k] or 0) > GRID]
            for axis in over[:1] if case.sizes.complete else ():
                said = f"the grid's {'xyz'[axis]} size is {case.launch.grid[axis]} at the task's size, and may be at most {GRID}: the launch fails"
                yield _over(case, grid_node(case), said, proof, at=full_size_of(context, name))


def _grids_of_inputs(source: Source, context: Context) -> Iterator[Finding]:
    """Yield the sizes of grids that are a size of the input itself, for two different inputs."""
    odd = {case.kernel: case for case in cases(source, context, "odd")}
    for case in cases(source, context):
        dims: dict[str, int] = {}
        for k in (1, 2) if case.kernel in odd else ():
            one, two = case.launch.grid[k], odd[case.kernel].launch.grid[k]
            axes = _axes(case, one) & _axes(odd[case.kernel], two)
            if one is not None and one != two and one > 1 and axes:
                dims["xyz"[k]] = min(axes)
        if dims:
            what = "size is a size" if len(dims) == 1 else "sizes are sizes"
            axes_said = (
                f"(dimension{'s' * (len(dims) > 1)} {' and '.join(map(str, dims.values()))})"
            )
            yield RULE.finding(
                case.place(grid_node(case)),
                f"the grid's {' and '.join(dims)} {what} of the input {axes_said}; only x may pass {GRID}, so the launch fails from {GRID + 1} on",
                severity="warning" if max(dims.values()) >= 2 else "note",
                predicts="elsewhere",
                kernels=(case.kernel,),
            )


def _axes(case: Case, size: int | None) -> set[int]:
    """Return the axes of the tensors that a kernel gets on which they have this size."""
    shapes = (tensor.sizes for tensor in case.tensors if tensor.sizes)
    return {axis for shape in shapes for axis, n in enumerate(shape) if n == size}


# shared memory


def _shared(source: Source, context: Context) -> Iterator[Finding]:
    """Yield launches whose bytes, with the kernel's fixed arrays, pass what a block gets."""
    proof, usual = refused_launches(context, "shared-memory"), cases(source, context)
    dynamic = any(len(case.launch.call.config) > 2 for case in usual)
    static = {case.kernel: _static(case) for case in usual} if dynamic else {}
    for case in cases(source, context, "main", "odd", "long") if dynamic else ():
        total = (case.launch.shared or 0) + static.get(case.kernel, 0)
        long = case.sizes.name.startswith("long")
        most = LARGEST if b"FuncSetAttribute" in case.unit.data else SHARED
        if case.launch.shared and total > most and not (long and refuses(source, case)):
            call = case.launch.call
            where = call.config[2].node if len(call.config) > 2 else call.node
            fixes = _asked_first(case) if most == SHARED else ()
            said = _said_of_bytes(total, most, long=long)
            yield _over(case, where, said, proof, elsewhere=long and not proof, fixes=fixes)


def _static(case: Case) -> int:
    """Return the bytes of a kernel's fixed arrays, which are the same for all sizes."""
    fixed = (r for r in case.walk.regions if r.space == "shared" and not r.dynamic)
    return sum((region.cells or 0) * SIZES.get(region.type, 4) for region in fixed)


def _said_of_bytes(total: int, most: int, *, long: bool) -> str:
    if long:
        return (
            f"the launch asks for shared memory in proportion to the input's size: beyond {most} bytes the "
            "kernel does not start"
        )
    if total > LARGEST:
        return f"the launch asks for {total} bytes of shared memory; no GPU gives a block more than {LARGEST}"
    return (
        f"the launch asks for {total} bytes of shared memory; above {SHARED} the kernel does not start unless "
        "cudaFuncSetAttribute(..MaxDynamicSharedMemorySize..) was called, and it is not"
    )


def _asked_first(case: Case) -> tuple[Fix, ...]:
    call = case.launch.call
    function = call.node.child_by_field_name("function")
    size = text(call.config[2].node) if len(call.config) > 2 else ""
    line = f"cudaFuncSetAttribute({text(function)}, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)({size}));"
    edits = [insert_before(case.unit, statement(call.node), line)] if function and size else []
    return fix("ask for the shared memory first", edits)


# blocks


def _blocks(source: Source, context: Context) -> Iterator[Finding]:
    """Yield blocks of more threads than there may be, or than the registers are enough for."""
    proof = refused_launches(context, "block")
    odd = {c.kernel: c.launch.threads for c in cases(source, context, "odd")}
    for name in ("main", "full"):
        for case in cases(source, context, name):
            threads = case.launch.threads or 0
            follows = not case.sizes.complete and odd.get(case.kernel) != threads
            if threads > MOST and not (follows and refuses(source, case)):
                said = (
                    f"the block's size follows the input: beyond {MOST} threads a block the launch fails, and nothing is computed"
                    if follows
                    else f"a block has {threads} threads here, and may have at most {MOST}: the launch fails"
                )
                at, elsewhere = full_size_of(context, name), follows and not proof
                yield _over(
                    case,
                    _block_node(case),
                    said,
                    proof,
                    elsewhere=elsewhere,
                    at=at,
                    fixes=_smaller(case),
                )
            elif 0 < threads <= MOST:
                yield from _registers(source, context, case, threads)


def _registers(source: Source, context: Context, case: Case, threads: int) -> Iterator[Finding]:
    most = max((u.registers for u in context.resources if case.kernel in u.kernel), default=0)
    if most * threads > REGISTERS:
        over = refused_launches(context, "registers")
        said = (
            f"`{case.kernel}` needs {most} registers a thread: {threads} threads a block would take "
            f"{most * threads}, and there are {REGISTERS}; the launch fails"
        )
        failed = [item for item in over if kernel_of(item, spans(source)) == case.kernel]
        yield _over(case, _block_node(case), said, failed, fixes=_bounds(case, threads))


def _bounds(case: Case, threads: int) -> tuple[Fix, ...]:
    """Tell the compiler how many threads a block has, so that it gives each fewer registers."""
    edits = []
    for kernel in case.unit.kernels:
        at = case.unit.data.find(b"__global__", kernel.node.start_byte, kernel.node.end_byte)
        if kernel.name == case.kernel and at >= 0:
            if kernel.launch_bounds is not None:
                return ()
            after = at + len(b"__global__")
            edits.append(case.unit.edit(after, after, f" __launch_bounds__({threads})"))
    return fix(f"say __launch_bounds__({threads})", edits)


def _block_node(case: Case) -> Node:
    config = case.launch.call.config
    expr = resolve(case.launch.host, config[1]) if len(config) > 1 else case.launch.call
    node: Node = expr.node
    return node.parent if isinstance(expr, Items) and node.parent is not None else node


def _smaller(case: Case) -> Iterator[Fix]:
    """Yield the ways to take fewer threads: another number where the text has one, a limit where it has none."""
    config, block = case.launch.call.config, case.launch.block
    if len(config) < 2 or not all(block):
        return
    expr = resolve(case.launch.host, config[1])
    nodes = [item.node for item in expr.items] if isinstance(expr, Items) else [expr.node]
    words = {text(node) for node in nodes}
    if len(words) == 1 and NAME.fullmatch(min(words)):
        yield from _renumbered(case, min(words), "16" if len(nodes) > 1 else str(MOST))
    if all(word.isdigit() for word in words):
        sizes = [size or 1 for size in block]
        while math.prod(sizes) > MOST:
            largest = sizes.index(max(sizes))
            sizes[largest] = MOST if len(nodes) == 1 else sizes[largest] // 2
        told = _told_as_template(case, text(nodes[0])) if len(nodes) == 1 else []
        pairs = zip((*nodes, *told), (*sizes[: len(nodes)], *[MOST] * len(told)), strict=True)
        edits = [case.unit.edit(n.start_byte, n.end_byte, str(size)) for n, size in pairs]
        yield from fix(f"take {' x '.join(map(str, sizes[: len(nodes)]))} threads", edits)
    elif len(nodes) == 1 and block[1:] == (1, 1):
        start, end = nodes[0].start_byte, nodes[0].end_byte
        limited = f"std::min<int>({text(nodes[0])}, {MOST})"
        yield from fix(f"take at most {MOST} threads", [case.unit.edit(start, end, limited)])


def _told_as_template(case: Case, words: str) -> list[Node]:
    """Return the template arguments of the launch that say the block's size as well."""
    line = case.line(case.launch.call.node)
    return [
        argument
        for launch in case.unit.launches
        if launch.kernel == case.kernel and case.line(launch.node) == line
        for argument in launch.template_arguments
        if text(argument) == words
    ]


def _renumbered(case: Case, name: str, size: str) -> Iterator[Fix]:
    """Give a constant of the text, which a block is made of, another value."""
    for pattern in (rb"#\s*define\s+%b\s+(\d+)\b", rb"\bconst(?:expr)?\s+int\s+%b\s*=\s*(\d+)\s*;"):
        found = re.search(pattern % name.encode(), case.unit.data)
        if found:
            edit = case.unit.edit(found.start(1), found.end(1), size)
            yield from fix(f"make {name} {size}", [edit])


RULE = Rule(
    **read_page(__file__),
    formerly=("IDX002", "IDX003", "MEM006"),
    detects=("text", "build", "evidence"),
    check=check,
    predicts="launch-fails",
)
