"""MEM011: an access out of bounds that a run showed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from grader.records import Evidence, Finding
from grader.rules.memory.data_larger_than_shared_array import text_findings as too_small_arrays
from grader.rules.memory.missing_bounds_guard import text_findings as missing_guards
from grader.rules.observed import observed
from grader.rules.rule import Context, Example, Rule
from grader.rules.walks import cases, spans

if TYPE_CHECKING:
    from grader.source import Source


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Report what the rules about the text don't explain, once for each line."""
    seen = observed(context, "oob", "shared-oob")
    if not seen:
        return
    guards = set(missing_guards(source, context))
    arrays = {kernel for kernel, _ in too_small_arrays(source, context)}
    arrays |= {
        case.kernel
        for case in cases(source, context, "main", "odd")
        for event in case.events("shared-oob")
        if event.region is not None and event.region.dynamic
    }
    kept: dict[tuple[str, int], list[Evidence]] = {}
    for item in seen:
        kernels = _kernels(source, item)
        explained = guards if "shared" not in item.code else arrays
        if not kernels & explained:
            kept.setdefault((item.code, item.place.line if item.place else 0), []).append(item)
    for items in kept.values():
        yield RULE.finding(items[0].place, items[0].text, confidence="proven", evidence=items)


def _kernels(source: Source, item: Evidence) -> set[str]:
    line = item.place.line if item.place else 0
    around = {name for name, first, last in spans(source) if first <= line <= last}
    named = str(item.data.get("kernel", ""))
    return {name for name in around if not named or name in named or named in name} or around


_CODE = """
__global__ void shift(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i - 1];
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    shift<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""

RULE = Rule(
    code="MEM011",
    name="access-out-of-bounds",
    severity="error",
    summary="A thread reads or writes outside of every buffer that the kernel was given.",
    why="On a GPU such an access hits somebody else's memory, or ends the program with an illegal memory "
    "access. The run names the line, the thread and the element.",
    bad=Example(
        _CODE,
        Context(
            evidence=(
                Evidence(
                    kind="simulator",
                    code="oob",
                    text="thread 0 reads x[-1], 4 bytes before its start",
                ),
            )
        ),
    ),
    good=_CODE,
    detects=("evidence",),
    guards="Only what a run has shown; where MEM001, MEM002 or MEM005 explain it, the evidence is theirs.",
    mend="",
    check=check,
)
