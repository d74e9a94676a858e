"""MEM005: a launch reserves another amount of shared memory than the kernel uses."""

import re
from collections.abc import Iterator

from tree_sitter import Node

from grader.records import Context, Finding, Fix
from grader.records.observed import observed
from grader.rules.proofs import confirm
from grader.rules.rule import Rule
from grader.source import Source
from grader.source.analysis.apart import past_the_end, sample
from grader.source.analysis.host_code import resolve
from grader.source.analysis.walks import Case, cases, spans
from grader.source.code_edits import fix
from grader.source.cuda_code import text
from grader.source.flow import Access, Region
from grader.source.flow.scalar_types import SIZES
from grader.source.flow.tree import Loop, walk


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Compare the bytes of the launch with the cells that the kernel touches."""
    found: dict[str, tuple[str, Finding]] = {}
    for case in cases(source, context, "main", "odd"):
        past = [one for one in past_the_end(case) if one[0].region.dynamic]
        if past and case.kernel not in found:
            access, cell, _ = max(past, key=lambda one: one[1])
            found[case.kernel] = (case.kernel, _too_small(case, access, cell))
    yield from confirm(found.values(), observed(context, "shared-oob"), spans(source))
    for case in cases(source, context):
        if case.kernel not in found:
            yield from _too_large(case)


def _bytes(case: Case) -> Node:
    """Return where the byte count is computed."""
    call = case.launch.call
    node: Node = call.node
    if len(call.config) > 2:
        node = resolve(case.launch.host, call.config[2], once=True).node
    return node


def _too_small(case: Case, access: Access, cell: int) -> Finding:
    region = access.region
    size, given = SIZES.get(region.type, 4), case.launch.shared or 0
    room = f"{given} bytes, room for {given // size} elements of {size} bytes" if given else "none"
    return RULE.finding(
        case.place(_bytes(case)),
        f"the kernel uses `{region.name}[{cell}]` (line {case.line(access.node)}) in a block of {case.walk.threads} threads, but the launch reserves {room}",
        fixes=_fixes(case, cell, region.type, given),
        kernels=(case.kernel,),
        cause=f"shared-oob {case.kernel}",
    )


def _fixes(case: Case, cell: int, kind: str, given: int) -> Iterator[Fix]:
    config, unit = case.launch.call.config, case.unit
    if len(config) < 2:
        return
    block = config[1].node
    outer = resolve(case.launch.host, config[1]).node.parent
    plain = case.launch.block[1:] == (1, 1) and "dim3" not in text(outer)
    threads = text(block) if plain else f"({text(block)}).x"
    if len(config) == 2:
        size = f", {threads} * sizeof({kind})"
        edit = unit.edit(block.end_byte, block.end_byte, size)
        yield from fix("reserve one element a thread", [edit])
        return
    node, last = _bytes(case), config[2].node
    if "sizeof" not in text(node) and cell < given:  # else it counts bytes already, of too few
        size = f"({text(node)}) * sizeof({kind})"
        yield from fix(
            "count bytes, not elements", [unit.edit(node.start_byte, node.end_byte, size)]
        )
    each = -(-(cell + 1) // case.walk.threads)
    edit = unit.edit(last.start_byte, last.end_byte, f"{each} * {threads} * sizeof({kind})")
    yield from fix("reserve what the kernel uses", [edit])


def _too_large(case: Case) -> Iterator[Finding]:
    """Report, as a note, what no thread ever touches."""
    dynamic = [r for r in case.walk.regions if r.dynamic and not r.escaped]
    if len(dynamic) != 1 or case.walk.stopped or not case.launch.shared or _goes_by_block(case):
        return
    region = dynamic[0]
    used, cells = _used(case, region), region.cells or 0
    if 0 < used < cells:
        spare = (cells - used) * SIZES.get(region.type, 4)
        yield RULE.finding(
            case.place(_bytes(case)),
            f"the launch reserves {cells} elements of `{region.name}`, of which the kernel uses {used}: {spare} bytes too many for each block",
            severity="note",
            kernels=(case.kernel,),
        )


def _goes_by_block(case: Case) -> bool:
    """Whether a loop goes further in other blocks than in the first, which is the one that was walked."""
    named = re.findall(r"(\w+)\s*=[^;=]*\bblockIdx\b[^;]*;", text(case.walk.kernel.node))
    words = re.compile(rf"\b(?:{'|'.join(['blockIdx', *named])})\b")
    tests = (part.test for part in walk(case.walk.kernel.body) if isinstance(part, Loop))
    return any(words.search(text(test.node)) for test in tests if test is not None)


def _used(case: Case, region: Region) -> int:
    """Return the cell after the last one that a thread comes to; 0 where that is not known of all accesses."""
    every = [one for walk in sample(case) for one in walk.memory if one.region.name == region.name]
    ends = [one.offset + one.scale for one in every if one.offset is not None]
    return max(ends, default=0) if len(ends) == len(every) else 0


_BAD = """
__global__ void turn(const float* x, float* y) {
    extern __shared__ float s[];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int threads = 256;
    turn<<<1, threads, threads>>>(x.data_ptr<float>(), y.data_ptr<float>());
    return y;
}
"""
RULE = Rule(
    code="MEM005",
    name="wrong-dynamic-shared-size",
    summary="The launch reserves a different number of bytes of shared memory than the kernel uses.",
    why="The third launch argument counts bytes. Elements instead of bytes, a missing argument, or the size of a smaller type leave the "
    "kernel writing past the end: into other arrays, or into an illegal access.",
    bad=_BAD,
    good=_BAD.replace("threads, threads", "threads, threads * sizeof(float)"),
    detects=("text", "evidence"),
    guards="Only indices that are followed exactly count. Bytes that no thread uses are a note.",
    fix="Multiplies by the size of the element, or reserves what the kernel uses.",
    check=check,
)
