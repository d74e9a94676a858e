"""MEM007: vectors are read from addresses that aren't multiples of their size."""

from collections.abc import Iterator
from typing import Any

from tree_sitter import Node

from grader.records import Context, Finding
from grader.records.observed import observed_evidence
from grader.rules.page_file import read_page
from grader.rules.proofs import once, settle
from grader.rules.rule import Rule
from grader.source import Source
from grader.source.analysis.host_code import refuses
from grader.source.analysis.walks import Case, cases
from grader.source.flow import Walk


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look at the addresses that are cast to vector types, in the second block and for odd rows."""
    found = once(_of_text(source, context))
    yield from settle(RULE, found, observed_evidence(context, "misaligned"), source)


def _of_text(source: Source, context: Context) -> Iterator[Finding]:
    wide = any(case.walk.vectors for case in cases(source, context))
    for case in cases(source, context, "main", "long") if wide else ():
        long = case.sizes.name.startswith("long")
        if case.walk.vectors and not (long and refuses(source, case, remainder=True)):
            block = (int((case.launch.grid[0] or 2) > 1), 0, 0)
            bad = _misaligned_access(case.thread(0, block)) or _misaligned_access(
                case.thread(1, block)
            )
            if bad is not None:
                yield _finding(case, *bad, long=long)


def _misaligned_access(block: Walk) -> tuple[Node, Any, int, int] | None:
    for node, pointer, width in block.vectors:
        rest = pointer.offset % width if pointer.offset is not None else 0
        if rest:
            return node, pointer, width, rest
    return None


def _finding(case: Case, node: Node, pointer: Any, width: int, rest: int, *, long: bool) -> Finding:
    reads = f"line {case.line(node)} reads {width} elements of `{pointer.region.name}` at once"
    where = (
        f"where a row's length is no multiple of {width}, the offset is none either"
        if long
        else f"the offset is no multiple of {width} already at these sizes"
    )
    return RULE.finding(
        case.place(node),
        f"{reads}, and {where} (e.g. {rest} over): the kernel stops there with a misaligned address",
        severity="warning" if long else None,
        kernels=(case.kernel,),
    )


RULE = Rule(**read_page(__file__), detects=("text", "evidence"), check=check, predicts="traps")
