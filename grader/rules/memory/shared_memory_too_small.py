"""MEM002: a launch reserves less shared memory than its kernel uses."""

from collections import Counter
from collections.abc import Iterator

from tree_sitter import Node

from grader.records import MemoryAccess
from grader.records.observed import kernel_of, observed_evidence
from grader.rules import Context, Evidence, Finding, Fix, Source, fix, rule_of
from grader.source.analysis.cases import Case, cases, spans
from grader.source.analysis.host_code import resolve
from grader.source.analysis.races import lines_of, shared_on
from grader.source.nodes import descendants, text
from grader.source.scalar_types import SIZES

DECLARED_AND_RESERVED = 2
"""Number of uses of a variable that only gives a launch's shared memory size."""
OF_WIDTH = {2: "__half", 4: "float", 8: "double"}
"""Assumed element type of a byte array, by the width of an access."""


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Report the launch of a kernel that exceeded its reserved shared memory in a run."""
    lines, seen = spans(source), observed_evidence(context, "shared-oob")
    for case in {case.kernel: case for case in reversed(cases(source, context))}.values():
        own = [item for item in seen if kernel_of(item, lines) == case.kernel]
        fixed = shared_on(case.unit, sorted(lines_of(own[:1])))
        dynamic = [one for one in case.function.shared if one.extern]
        if own and dynamic and all(one.extern for one in fixed):
            yield _too_small(case, dynamic[0].type, own)


def _too_small(case: Case, kind: str, items: list[Evidence]) -> Finding:
    given, line = case.launch.shared or 0, items[0].place.line if items[0].place else 0
    went = [item.details for item in items if isinstance(item.details, MemoryAccess)]
    width = next((one.width for one in went), 4)
    kind = OF_WIDTH.get(width, kind) if SIZES.get(kind, 4) == 1 else kind
    cells = [(one.offset or 0) // SIZES.get(kind, 4) for one in went]
    return RULE.finding(
        case.place(_bytes(case)),
        f"line {line} goes past the end of what the launch reserves, {f'{given} bytes' if given else 'which is nothing'}, in a block of "
        f"{case.threads} threads",
        evidence=items,
        fixes=_reserve(case, max(cells, default=case.threads - 1), kind),
        kernels=(case.kernel,),
        cause=f"shared-oob {case.kernel}",
    )


def _bytes(case: Case) -> Node:
    """Return the definition of the byte count."""
    call, count = case.launch.call, case.launch.call.config[2:3]
    node: Node = resolve(case.launch.host, count[0], once=True).node if count else call.node
    return node


def _reserve(case: Case, cell: int, kind: str) -> Iterator[Fix]:
    """Yield launches that reserve enough for the kernel's accesses up to a cell."""
    config, unit = case.launch.call.config, case.unit
    if len(config) < 2:
        return
    block = config[1].node
    outer = resolve(case.launch.host, config[1]).node.parent
    plain = case.launch.block[1:] == (1, 1) and "dim3" not in text(outer)
    threads = text(block) if plain else f"({text(block)}).x"
    if len(config) == 2:
        edit = unit.edit(block.end_byte, block.end_byte, f", {threads} * sizeof({kind})")
        yield from fix("reserve one element a thread", [edit])
        return
    node, last, reserved = _bytes(case), config[2].node, case.launch.shared or 0
    if "sizeof" not in text(node) and cell < reserved:  # else it already counts bytes
        names = (text(one) for one in descendants(case.launch.host.node, "identifier"))
        if Counter(names)[text(last)] > DECLARED_AND_RESERVED:
            node = last
        words = text(node) if node.type == "identifier" else f"({text(node)})"
        edit = unit.edit(node.start_byte, node.end_byte, f"{words} * sizeof({kind})")
        yield from fix("count bytes, not elements", [edit])
    each, given = -(-(cell + 1) // case.threads), reserved // SIZES.get(kind, 4)
    sizes = [f"{each} * {threads} * sizeof({kind})"]
    behind = range(given, given + case.threads)
    if given > case.threads and cell in behind:  # a row, and the part of each thread after it
        sizes.insert(0, f"{text(last)} + {threads} * sizeof({kind})")
    edits = (unit.edit(last.start_byte, last.end_byte, size) for size in sizes)
    yield from (one for edit in edits for one in fix("reserve what the kernel uses", [edit]))


RULE = rule_of(__file__, check)
