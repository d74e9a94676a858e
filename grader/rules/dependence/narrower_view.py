"""DEP004: a tensor is read through a pointer to a narrower type than its own."""

import re
from collections.abc import Iterator

from grader.records import Context, Evidence, Finding, Place, Touched
from grader.records.observed import touched_by_lines
from grader.rules.rule import Example, Rule
from grader.source import Source
from grader.source.cuda_code import text

MISMATCH = Evidence(kind="mismatch", code="zeros", text="half of the results are wrong")


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Say which line takes parts of elements for elements."""
    traced = {item.workload for item in context.seen("provenance")}
    mismatches = [item for item in context.seen("mismatch") if item.workload in traced]
    told: set[tuple[str, str, int]] = set()
    for item, details in touched_by_lines(context):
        line = item.place.line if item.place else 0
        key = (details.tensor, details.access, line)
        if not mismatches or details.width >= details.item or key in told:
            continue
        told.add(key)
        verb = "reads" if details.access == "load" else "writes"
        cast = _cast(source, details)
        yield RULE.finding(
            cast or item.place,
            f"{f'`{cast.excerpt}`: ' if cast else ''}line {line} {verb} {details.tensor}, a tensor of {details.dtype} ({details.item} bytes an element), "
            f"in elements of {details.width} bytes: index i is then half-way into another element, and "
            f"{details.size - details.elements} of its {details.size} elements are not reached",
            confidence="proven",
            evidence=[item, *mismatches[:1]],
            cause="view",
            root_cause=True,
        )


def _cast(source: Source, details: Touched) -> Place | None:
    """Return the only cast of a tensor's pointer to a type of that width and not the tensor's own."""
    found = [
        unit.place(node)
        for unit in source.cuda
        for kind in ("cast_expression", "call_expression")
        for node in unit.nodes(kind)
        if (match := _CAST.match(text(node))) and _WIDTHS.get(match["type"]) == details.width
    ]
    return found[0] if len(found) == 1 else None


_CAST = re.compile(
    r"(?:\(|(?:reinterpret|static)_cast\s*<)\s*(?:const\s+)?(?P<type>[\w:]+)\s*(?:const\s*)?\*[^,;]*data_ptr"
)
_WIDTHS = {
    "int": 4,
    "int32_t": 4,
    "float": 4,
    "unsigned": 4,
    "uint32_t": 4,
    "short": 2,
    "half": 2,
    "__half": 2,
}


_CODE = """
__global__ void pick(const float* x, const int* at, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[at[i]];
}
"""

RULE = Rule(
    code="DEP004",
    name="view-of-a-narrower-type",
    summary="A tensor is accessed through a pointer to a narrower type: `int*` on a tensor of int64.",
    why="`data_ptr<T>()` checks the type, `(int*)x.data_ptr()` does not. Each second `int` of an int64 tensor is the "
    "upper half of the element before, a zero for small numbers, and the second half of the tensor is never "
    "read. Class indices are int64 in PyTorch: take `const int64_t*` (`long long`), or convert on the host with "
    "`x.to(torch::kInt)`.",
    bad=Example(
        _CODE,
        Context(
            evidence=(
                MISMATCH,
                Evidence(
                    kind="provenance",
                    code="touched",
                    text="line 7 reads 4 of 8 elements of input 2",
                    place=Place(line=7, end_line=7),
                    details=Touched(
                        tensor="input 2",
                        dtype="int64",
                        item=8,
                        access="load",
                        width=4,
                        extents=(),
                        elements=4,
                        size=8,
                    ),
                ),
            )
        ),
    ),
    good=_CODE,
    detects=("evidence",),
    guards="Only with a result that is wrong: bytes can be copied in any width.",
    check=check,
)
