"""MEM002: a shared array is too small for what the kernel puts into it, or larger than what it uses."""

import re
from collections import Counter
from collections.abc import Iterator

from tree_sitter import Node

from grader.records.observed import kernel_of, observed_evidence, ran_clean
from grader.rules import Context, Finding, Fix, Source, fix, rule_of
from grader.rules.proofs import once
from grader.source.analysis.apart import Past, past_the_end, sample
from grader.source.analysis.host_code import refuses, resolve
from grader.source.analysis.walks import Case, cases, spans
from grader.source.cpp import Loop, walk
from grader.source.cuda_code import descendants, text
from grader.source.flow import Region
from grader.source.rewriting.shared_arrays import unstage
from grader.source.rewriting.shared_sizes import enlarged
from grader.source.scalar_types import SIZES

DECLARED_AND_RESERVED = 2
"""How often a variable is named that has no other use than to say how much a launch reserves."""
VERBS = {"load": "reads", "store": "writes", "atomic": "writes"}


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for accesses past the end of shared arrays: fixed ones, for long rows as well, and what launches reserve."""
    dynamic = tuple(once(_dynamic(source, context)))
    lines, seen = spans(source), observed_evidence(context, "shared-oob")
    for finding in (*_fixed(source, context), *dynamic):
        proof = [item for item in seen if kernel_of(item, lines) == finding.kernels[0]]
        shown = {"severity": "error", "confidence": "proven", "evidence": tuple(proof)}
        yield finding.model_copy(update=shown) if proof else finding
    short = {finding.kernels for finding in dynamic}
    for case in cases(source, context):
        yield from _too_large(case) if (case.kernel,) not in short else ()


# fixed arrays


def _fixed(source: Source, context: Context) -> Iterator[Finding]:
    told: set[tuple[str, str]] = set()
    usual, proof = cases(source, context), observed_evidence(context, "shared-oob")
    clean = {case.kernel for case in usual if not proof and ran_clean(context, case.kernel)}
    fixed = {case.kernel for case in usual if any(map(_is_fixed, case.walk.regions))}
    for case in cases(source, context, "main", "long") if fixed else ():
        long = case.sizes.name.startswith("long")
        # It ran at these sizes, or they are not what the program is given.
        other = (case.kernel in clean and not long) or (long and refuses(source, case))
        for past in past_the_end(case) if case.kernel in fixed and not other else ():
            region = past.access.region
            if _is_fixed(region) and (case.kernel, region.name) not in told:
                told.add((case.kernel, region.name))
                sure = case.sizes.complete and case.kernel not in clean
                yield _finding(case, past, sure=sure, long=long)


def _is_fixed(region: Region) -> bool:
    return region.space == "shared" and not region.dynamic


def _finding(case: Case, past: Past, *, sure: bool, long: bool) -> Finding:
    region, line, verb = past.access.region, case.line(past.access.node), VERBS[past.access.kind]
    name, cells = region.name, region.cells or 0
    if long:
        message = (
            f"`{name}` has room for {cells} elements, and line {line} {verb} it with an index that follows the size of the input: "
            f"rows from {cells + 1} elements on go past its end"
        )
    else:
        where = "" if case.sizes.complete else "at sizes that nothing in the text rules out, "
        message = (
            f"{where}line {line} {verb} `{name}[{past.cell}]`, but the array has {cells} elements "
            f"(thread {past.thread} of {case.walk.threads} does so)"
        )
    return RULE.finding(
        case.place(past.access.node),
        message,
        severity="error" if sure else "warning",
        predicts="elsewhere" if long else None,
        fixes=_room(case, name, long=long),
        kernels=(case.kernel,),
        cause=f"shared-oob {case.kernel}",
    )


def _room(case: Case, name: str, *, long: bool) -> Iterator[Fix]:
    array = next((one for one in case.unit.shared if one.name == name), None)
    for kernel in case.unit.kernels if array is not None else ():
        if kernel.name == case.kernel and array is not None:
            yield from unstage(case.unit, kernel, array)
            yield from enlarged(case.unit, array, case.walk.threads) if not long else ()


# what launches reserve


def _dynamic(source: Source, context: Context) -> Iterator[Finding]:
    for case in cases(source, context, "main", "odd"):
        found = [one for one in past_the_end(case) if one.access.region.dynamic]
        if found:
            yield _too_small(case, max(found, key=lambda one: one.cell))


def _bytes(case: Case) -> Node:
    """Return where the byte count is computed."""
    call = case.launch.call
    node: Node = call.node
    if len(call.config) > 2:
        node = resolve(case.launch.host, call.config[2], once=True).node
    return node


def _too_small(case: Case, past: Past) -> Finding:
    region = past.access.region
    size, given = SIZES.get(region.type, 4), case.launch.shared or 0
    room = f"{given} bytes, room for {given // size} elements of {size} bytes" if given else "none"
    return RULE.finding(
        case.place(_bytes(case)),
        f"the kernel uses `{region.name}[{past.cell}]` (line {case.line(past.access.node)}) in a block of {case.walk.threads} threads, but the launch reserves {room}",
        fixes=_reserve(case, past.cell, region.type, given),
        kernels=(case.kernel,),
        cause=f"shared-oob {case.kernel}",
    )


def _reserve(case: Case, cell: int, kind: str, given: int) -> Iterator[Fix]:
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
        names = (text(one) for one in descendants(case.launch.host.node, "identifier"))
        if Counter(names)[text(last)] > DECLARED_AND_RESERVED:
            node = last
        words = text(node) if node.type == "identifier" else f"({text(node)})"
        size = f"{words} * sizeof({kind})"
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
    tests = (part.test for part in walk(case.walk.kernel.code) if isinstance(part, Loop))
    return any(words.search(text(test.node)) for test in tests if test is not None)


def _used(case: Case, region: Region) -> int:
    """Return the cell after the last one that a thread comes to; 0 where that is not known of all accesses."""
    every = [one for walk in sample(case) for one in walk.memory if one.region.name == region.name]
    ends = [one.offset + one.scale for one in every if one.offset is not None]
    return max(ends, default=0) if len(ends) == len(every) else 0


RULE = rule_of(__file__, check)
