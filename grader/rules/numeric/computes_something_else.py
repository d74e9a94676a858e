"""NUM001: the kernel computes another formula than the task asks for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from grader.records import Evidence, Finding, Place
from grader.rules.rule import Context, Example, Rule
from grader.rules.walks import Case, cases
from grader.source.flow.reduction import losses

if TYPE_CHECKING:
    from grader.source import Source

MEANING = {
    "constant-factor": "every result is {factor:.4g} times what it should be",
    "sign-flip": "every result has the wrong sign",
    "constant-offset": "every result is off by the same amount ({offset:+.4g})",
    "row-factor": "each row is off by a factor of its own, so the number that it is scaled by "
    "is wrong",
    "transposed": "the values are right but two dimensions are swapped",
    "shifted": "the values are right but moved by one place",
    "input-returned": "the input comes back unchanged",
    "constant-value": "one and the same value comes out everywhere",
    "zeros": "zeros come out where the reference has other values",
}
EVENTS = (
    "uninit-shared-read",
    "race-raw",
    "race-war",
    "race-waw",
    "shared-oob",
    "shuffle-mask",
    "barrier-divergence",
)


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Say what a wrong result's pattern means, where the mechanics don't explain it."""
    seen = [e for e in _deciding(context) if e.code in MEANING]
    if not seen:
        return
    every = cases(source, context)
    if any(True for case in every for _ in case.events(*EVENTS)):
        return
    if any(losses(case.walk) for case in every) or any(
        e.kind == "simulator" for e in context.evidence
    ):
        return
    codes = dict.fromkeys(item.code for item in seen)
    for code in list(codes)[:1]:
        items = tuple(e for e in seen if e.code == code)
        yield RULE.finding(
            _place(every),
            f"{_say(items[0])} ({items[0].text})",
            confidence="proven",
            evidence=items,
            data={"pattern": code},
        )


def _deciding(context: Context) -> list[Evidence]:
    """Return the mismatches that decided; those of other sizes where there are no such."""
    found = [e for e in context.evidence if e.kind in {"mismatch", "probe"}]
    workloads = context.task.workloads if context.task is not None else ()
    others = {workload.name for workload in workloads if workload.role == "general"}
    return [e for e in found if e.workload not in others] or found


def _say(item: Evidence) -> str:
    if item.code == "zeros" and item.data.get("whole") is False:
        return "part of the results stays zero, as if no thread computed it"
    try:
        text = MEANING[item.code].format(**item.data)
    except (KeyError, ValueError, TypeError):
        text = item.text
    return f"the kernel computes something else than the task asks for: {text}"


def _place(every: tuple[Case, ...]) -> Place | None:
    """Return the last store of the last kernel."""
    for case in reversed(every):
        for access in reversed(case.walk.accesses):
            if access.kind in {"store", "atomic"}:
                return case.place(access.node)
        return case.place(case.walk.kernel.node)
    return None


_CODE = """
__global__ void mean(const float* x, float* y, int n) {
    float s = 0.0f;
    for (int i = 0; i < n; ++i) s += x[blockIdx.x * n + i];
    y[blockIdx.x] = s;
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty({x.size(0)}, x.options());
    mean<<<x.size(0), 1>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""

RULE = Rule(
    code="NUM001",
    name="computes-something-else",
    severity="error",
    summary="The kernel computes a different formula than the task asks for, for example a sum "
    "where a "
    "mean is wanted.",
    why="A constant factor between result and reference is a forgotten (or added) division by a "
    "length, "
    "its root, or a scale; a factor for each row is a wrong norm; swapped dimensions are a wrong "
    "index. "
    "The pattern of the wrong values says which.",
    bad=Example(
        _CODE,
        Context(
            evidence=(
                Evidence(
                    kind="mismatch",
                    code="constant-factor",
                    text="the wrong are 64 times the reference",
                    data={"factor": 64.0},
                ),
            )
        ),
    ),
    good=_CODE,
    detects=("evidence",),
    guards="Only with a comparison that went wrong in a pattern, and not where a race, unfilled "
    "memory or "
    "a lost partial result explains the numbers.",
    mend="",
    check=check,
)
