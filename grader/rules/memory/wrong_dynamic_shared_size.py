"""MEM005: a launch reserves another amount of shared memory than the kernel uses."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from tree_sitter import Node

from grader.records import Context, Finding, Fix
from grader.records.observed import observed
from grader.rules.proofs import confirm
from grader.rules.rule import Rule
from grader.source import Source
from grader.source.analysis.host_code import resolve
from grader.source.analysis.walks import Case, cases, spans
from grader.source.code_edits import fix
from grader.source.cuda_code import text
from grader.source.flow import Event, Region
from grader.source.flow.scalar_types import SIZES
from grader.source.flow.tree import Expr, Loop, walk


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Compare the bytes of the launch with the cells that the kernel touches."""
    found: dict[str, tuple[str, Finding]] = {}
    for case in cases(source, context, "main", "odd"):
        events = [e for e in case.events("shared-oob") if e.region is not None and e.region.dynamic]
        if events and case.kernel not in found:
            worst = max(events, key=lambda e: e.cell)
            found[case.kernel] = (case.kernel, _too_small(case, worst))
    yield from confirm(found.values(), observed(context, "shared-oob"), spans(source))
    for case in cases(source, context):
        if case.kernel not in found:
            yield from _too_large(case)


def _expression(case: Case) -> tuple[Expr | None, Node]:
    """Return the byte count's expression where it is computed, and the place to show."""
    call = case.launch.call
    if len(call.config) < 3:
        return None, call.node
    expr = resolve(case.launch.host, call.config[2], once=True)
    return expr, expr.node


def _too_small(case: Case, event: Event) -> Finding:
    region = event.region
    name, kind = (region.name, region.type) if region is not None else ("", "float")
    size = SIZES.get(kind, 4)
    given = case.launch.shared or 0
    _, node = _expression(case)
    rest = (
        "the launch reserves none"
        if given == 0
        else f"the launch reserves {given} bytes, room for {given // size} elements of {size} bytes"
    )
    return RULE.finding(
        case.place(node),
        f"the kernel uses `{name}[{event.cell}]` (line {case.line(event.node)}) in a block of {case.walk.threads} threads, but {rest}",
        fixes=_fixes(case, event, given),
        kernels=(case.kernel,),
        cause=f"shared-oob {case.kernel}",
    )


def _fixes(case: Case, event: Event, given: int) -> Iterator[Fix]:
    call = case.launch.call
    kind = event.region.type if event.region is not None else "float"
    if len(call.config) < 2:
        return
    block = text(call.config[1].node)
    threads = block if case.launch.block[1:] == (1, 1) and not _is_dim3(case) else f"({block}).x"
    if len(call.config) == 2:
        at = call.config[1].node.end_byte
        yield from fix(
            "reserve one element a thread",
            [case.unit.edit(at, at, f", {threads} * sizeof({kind})")],
        )
        return
    expr, node = _expression(case)
    elements = "sizeof" not in text(node)  # else it counts bytes already, of too few elements
    if expr is not None and elements and given > 0 and event.cell < given:
        yield from fix(
            "count bytes, not elements",
            [case.unit.edit(node.start_byte, node.end_byte, f"({text(node)}) * sizeof({kind})")],
        )
    last = call.config[2].node
    yield from fix(
        "reserve what the kernel uses",
        [
            case.unit.edit(
                last.start_byte,
                last.end_byte,
                f"{(event.cell + 1 + case.walk.threads - 1) // case.walk.threads} * {threads} * sizeof({kind})",
            )
        ],
    )


def _is_dim3(case: Case) -> bool:
    expr = resolve(case.launch.host, case.launch.call.config[1])
    return (
        "dim3" in text(expr.node.parent)
        if expr.node is not None and expr.node.parent is not None
        else False
    )


def _too_large(case: Case) -> Iterator[Finding]:
    """Report, as a note, what no thread ever touches."""
    dynamic = [r for r in case.walk.regions if r.dynamic and r.shadow is not None and not r.escaped]
    if len(dynamic) != 1 or case.walk.stopped or not case.launch.shared or _goes_by_block(case):
        return
    used = _used(dynamic[0])
    cells = dynamic[0].cells or 0
    size = SIZES.get(dynamic[0].type, 4)
    if 0 < used < cells:
        _, node = _expression(case)
        yield RULE.finding(
            case.place(node),
            f"the launch reserves {cells} elements of `{dynamic[0].name}`, of which the kernel uses {used}: {(cells - used) * size} bytes "
            "too many for each block",
            severity="note",
            kernels=(case.kernel,),
        )


def _goes_by_block(case: Case) -> bool:
    """Whether a loop goes further in other blocks than in the first, which is the one that was walked."""
    body = text(case.walk.kernel.node)
    named = re.findall(r"(\w+)\s*=[^;=]*\bblockIdx\b[^;]*;", body)
    words = re.compile(rf"\b(?:{'|'.join(['blockIdx', *named])})\b")
    tests = (part.test for part in walk(case.walk.kernel.body) if isinstance(part, Loop))
    return any(words.search(text(test.node)) for test in tests if test is not None)


def _used(region: Region) -> int:
    shadow = region.shadow
    if shadow is None:
        return 0
    touched = np.flatnonzero(shadow.accessed)
    return int(touched.max()) + 1 if len(touched) else 0


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
    severity="error",
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
