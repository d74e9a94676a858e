"""IDX006: a launch exceeds a GPU's limits, or failed in a run."""

import math
import re
from collections.abc import Iterable, Iterator

from tree_sitter import Node

from grader.records import LaunchRefused
from grader.records.observed import kernel_of, observed_evidence
from grader.rules import Context, Evidence, Finding, Fix, Source, fix, rule_of
from grader.rules.proofs import once
from grader.source.analysis.cases import Case, cases, spans
from grader.source.analysis.host_code import grid_node, resolve
from grader.source.cpp import Items
from grader.source.nodes import text
from grader.source.statements import insert_before, statement

GRID, MOST = 65_535, 1024
"""The most blocks along y and z, and the most threads a block."""
LARGEST = 232_448
"""Bytes of shared memory that no GPU gives a block more than (sm_90)."""
NAME = re.compile(r"[A-Za-z_]\w*")


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Report each kernel's refused launches once, at the excessive value; predict grids that grow with the input."""
    failed: dict[str, list[Evidence]] = {}
    for item in observed_evidence(context, "launch"):
        failed.setdefault(kernel_of(item, spans(source)), []).append(item)
    yield from once(
        one for one in _grids_of_inputs(source, context) if one.kernels[0] not in failed
    )
    for kernel, items in failed.items():
        case = next((one for one in cases(source, context) if one.kernel == kernel), None)
        asked = _asked_for(case, items[0]) if case is not None else None
        node, fixes = asked or (None, ())
        yield RULE.finding(
            case.place(node) if case is not None and node is not None else items[0].place,
            items[0].text,
            evidence=items,
            kernels=(kernel,),
            fixes=fixes,
            cause=f"launch {kernel}",
        )


def _asked_for(case: Case, item: Evidence) -> tuple[Node, Iterable[Fix]] | None:
    """Return the excessive expression, and fixes that reduce it."""
    refused = item.details
    if not isinstance(refused, LaunchRefused) or refused.asked <= refused.most:
        return None
    config = case.launch.call.config
    match refused.limit:
        case "grid":
            return grid_node(case), ()
        case "block":
            return _block_node(case), _smaller(case)
        case "registers":
            return _block_node(case), _bounds(case)
        case "shared-memory" if len(config) > 2:
            may_ask = refused.asked <= LARGEST and b"FuncSetAttribute" not in case.unit.data
            return config[2].node, _asked_first(case) if may_ask else ()
    return None


# grids


def _grids_of_inputs(source: Source, context: Context) -> Iterator[Finding]:
    """Yield the grid sizes that equal an input's size, for two different inputs."""
    odd = {case.kernel: case for case in cases(source, context, "odd")}
    for case in cases(source, context):
        dims: dict[str, int] = {}
        for k in (1, 2) if case.kernel in odd else ():
            one, two = case.launch.grid[k], odd[case.kernel].launch.grid[k]
            axes = _axes(case, one) & _axes(odd[case.kernel], two)
            if one is not None and one != two and one > 1 and axes:
                dims["xyz"[k]] = min(axes)
        if dims:
            sizes = " and ".join(f"{dim} is the input's size({axis})" for dim, axis in dims.items())
            yield RULE.finding(
                case.place(grid_node(case)),
                f"the grid's {sizes}; only x may pass {GRID}, so the launch fails from {GRID + 1} on",
                severity="warning" if max(dims.values()) >= 2 else "note",
                predicts="elsewhere",
                kernels=(case.kernel,),
            )


def _axes(case: Case, size: int | None) -> set[int]:
    """Return the axes of the tensors that a kernel gets on which they have this size."""
    shapes = (tensor.sizes for tensor in case.tensors if tensor.sizes)
    return {axis for shape in shapes for axis, n in enumerate(shape) if n == size}


def _asked_first(case: Case) -> tuple[Fix, ...]:
    call = case.launch.call
    function = call.node.child_by_field_name("function")
    size = text(call.config[2].node) if len(call.config) > 2 else ""
    line = f"cudaFuncSetAttribute({text(function)}, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)({size}));"
    edits = [insert_before(case.unit, statement(call.node), line)] if function and size else []
    return fix("ask for the shared memory first", edits)


def _bounds(case: Case) -> tuple[Fix, ...]:
    """Tell the compiler the number of threads of a block, so that it uses fewer registers for each."""
    edits, threads = [], case.launch.threads or MOST
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
    """Yield the ways to use fewer threads: another number where the text has one, else a limit."""
    config, block = case.launch.call.config, case.launch.block
    if len(config) < 2 or not all(block):
        return
    expr = resolve(case.launch.host, config[1])
    nodes = [item.node for item in expr.items] if isinstance(expr, Items) else [expr.node]
    words, sizes = {text(node) for node in nodes}, [size or 1 for size in block]
    if len(words) == 1 and NAME.fullmatch(min(words)):
        yield from _renumber_constant(case, min(words), "16" if len(nodes) > 1 else str(MOST))
    elif all(map(NAME.fullmatch, words)):
        fitting = max(sizes) * MOST // math.prod(sizes)
        name = text(nodes[sizes.index(max(sizes))])
        yield from _renumber_constant(case, name, str(fitting))
    if all(word.isdigit() for word in words):
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
    """Return the template arguments of the launch that equal the block's size."""
    line = case.line(case.launch.call.node)
    return [
        argument
        for launch in case.unit.launches
        if launch.kernel == case.kernel and case.line(launch.node) == line
        for argument in launch.template_arguments
        if text(argument) == words
    ]


def _renumber_constant(case: Case, name: str, size: str) -> Iterator[Fix]:
    """Change a constant of the text that a block's size is computed from."""
    for pattern in (rb"#\s*define\s+%b\s+(\d+)\b", rb"\bconst(?:expr)?\s+int\s+%b\s*=\s*(\d+)\s*;"):
        found = re.search(pattern % name.encode(), case.unit.data)
        if found:
            edit = case.unit.edit(found.start(1), found.end(1), size)
            yield from fix(f"make {name} {size}", [edit])


RULE = rule_of(__file__, check, predicts="launch-fails")
