"""MEM007: vectors are read from addresses that aren't multiples of their size."""

from collections.abc import Iterator
from typing import Any

from tree_sitter import Node

from grader.records import Context, Finding
from grader.records.observed import observed_evidence
from grader.rules.proofs import once, settle
from grader.rules.rule import Rule, hosted
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


_BAD = hosted("""
__global__ void copy(const float* x, float* y, int dim) {
    const float4* v = reinterpret_cast<const float4*>(x + blockIdx.x * dim);
    float4 a = v[threadIdx.x];
    y[blockIdx.x * dim + threadIdx.x] = a.x;
}
copy<<<x.size(0), 32>>>($x, $y, x.size(1));
""")
RULE = Rule(
    code="MEM007",
    name="misaligned-vector-access",
    summary="Four floats are read at once from an address that is not a multiple of 16 bytes, which stops the kernel.",
    why="A vector load needs an address that is a multiple of its size. A row starts at one only if the row's length is a multiple of "
    "the vector's: test that on the host (and the pointer too, for slices), and take scalar loads otherwise.",
    bad=_BAD,
    good=_BAD.replace(
        "    auto", '    TORCH_CHECK(x.size(1) % 4 == 0, "rows of whole vectors");\n    auto'
    ),
    detects=("text", "evidence"),
    guards="Flat buffers start at an allocation and are aligned; host code that tests the remainder is believed. A warning where only "
    "other row lengths than the task's are affected.",
    fix="Reads and writes one element at a time: only those that are used, or through a vector type that needs no alignment.",
    check=check,
    predicts="traps",
)
