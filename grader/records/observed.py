"""Queries on evidence: which runs observed what, in which kernel, at which sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.records.evidence import (
    MemoryAccess,
    ProbedInput,
    UnwrittenOutput,
    WrongValues,
)
from grader.records.provenance import (
    Dependence,
    Slice,
    Touched,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grader.records.context import Context
    from grader.records.finding import Evidence

MOST_BESIDE = 3
"""Number of lines shown that touch only a part of a tensor."""
KERNELS_MATTER = "kernels-matter"
"""Code of a probe: the results change when no kernel runs."""
UNSTEADY = frozenset({"order-matters", "result-changed"})
"""Codes of probes: a right result becomes wrong when the program is called again."""
RUN_KINDS = ("simulator", "sanitizer")
FATAL = frozenset(
    {
        "deadlock",
        "grid-deadlock",
        "livelock",
        "trap",
        "assert",
        "out-of-bounds",
        "misaligned",
        "stack-overflow",
    }
)
"""Kinds that end a kernel early: defects that it did not show may still be there."""
GROUPS: dict[str, frozenset[str]] = {
    "uninit": frozenset({"uninit-shared-read"}),
    "uninit-local": frozenset({"uninit-local-read"}),
    "race": frozenset({"race"}),
    "race-volatile": frozenset({"race-volatile"}),
    "global-race": frozenset({"global-race"}),
    "same-value": frozenset({"same-value-race"}),
    "grid": frozenset({"grid-deadlock"}),
    "divergence": frozenset({"barrier-divergence", "deadlock"}),
    "endless": frozenset({"livelock"}),
    "exited": frozenset({"barrier-exited"}),
    "shuffle": frozenset({"shuffle-absent-lane", "sync-lane-not-in-mask", "sync-exited-lanes"}),
    "oob": frozenset({"oob", "out-of-bounds", "use-after-free", "local-out-of-bounds"}),
    "shared-oob": frozenset({"shared-oob", "shared-out-of-bounds"}),
    "misaligned": frozenset({"misaligned"}),
    "input-written": frozenset({"input-written", "constant-written"}),
    "uninit-global": frozenset({"uninit-global-read"}),
    "unwritten": frozenset({"unwritten-output", "unwritten"}),
    "host-memory": frozenset({"host-memory", "null-pointer"}),
    "host-access": frozenset({"host-access"}),
    "launch": frozenset({"launch-error", "launch-error-unseen"}),
    "stop": frozenset({"trap", "assert", "stack-overflow"}),
}
"""The simulator's kinds (`grader.simulator.wording.KINDS`) by the defect that explains them."""


def kernel_of(item: Evidence, spans: Sequence[tuple[str, int, int]]) -> str:
    """Return the kernel that the evidence names, or the one around its line."""
    named = item.kernel
    for name, _, _ in spans:
        if named and (name == named or name in named):
            return name
    line = item.place.line if item.place else 0
    return next((name for name, first, last in spans if first <= line <= last), named)


def observed_evidence(context: Context, *groups: str) -> tuple[Evidence, ...]:
    """Return the evidence of these groups that runs gave, with a place."""
    codes = frozenset().union(*(GROUPS[group] for group in groups))
    return tuple(
        item
        for item in context.evidence
        if item.kind in RUN_KINDS and item.code.replace("_", "-") in codes
    )


def dependence_differs(context: Context) -> bool:
    """Whether a run showed that wrong elements depend on other elements than the reference's."""
    return any(isinstance(item.details, Dependence) for item in context.evidence)


def slices(context: Context) -> Iterator[tuple[Evidence, Slice]]:
    """Yield the slices of the wrong elements that a run traced."""
    for item in context.evidence_of("provenance"):
        if isinstance(item.details, Slice):
            yield item, item.details


def differences(context: Context, *codes: str) -> Iterator[tuple[Evidence, Dependence]]:
    """Yield the evidence of these codes on the dependences of wrong elements."""
    for item in context.evidence_of("provenance"):
        if item.code in codes and isinstance(item.details, Dependence):
            yield item, item.details


def touched_by_lines(context: Context) -> Iterator[tuple[Evidence, Touched]]:
    """Yield what each line touched."""
    for item in context.evidence_of("provenance"):
        if isinstance(item.details, Touched):
            yield item, item.details


def beside(context: Context, difference: Dependence) -> tuple[Evidence, ...]:
    """Return which parts of its tensor each line touched, for lines that leave some out."""
    return tuple(
        item
        for item, details in touched_by_lines(context)
        if details.tensor == difference.tensor and details.elements < details.size
    )[:MOST_BESIDE]


def leaves_out(seen: Sequence[Evidence]) -> bool:
    """Whether a part of a result is not written; or, where its values weren't traced, is wrong from some index on."""
    followed = any(isinstance(item.details, Dependence | Slice) for item in seen)
    return any(_leaves_out(item, followed=followed) for item in seen)


def _leaves_out(item: Evidence, *, followed: bool) -> bool:
    if isinstance(item.details, UnwrittenOutput):
        return item.details.missing != item.details.size
    if isinstance(item.details, Dependence):
        return item.code == "missing" and not item.details.stored
    return item.code == "unwritten" or (
        not followed and item.code in {"from-index-on", "flat-tail"}
    )


def values_of(item: Evidence) -> WrongValues:
    """Return the common property of the wrong elements; None for other evidence."""
    return item.details if isinstance(item.details, WrongValues) else WrongValues()


def probed_input(item: Evidence) -> int | None:
    """Return the input (from 0) that a probe changed, or whose values came back."""
    if isinstance(item.details, ProbedInput):
        return item.details.input
    return values_of(item).input


def wrong_results(context: Context, *, general: bool = False) -> tuple[Evidence, ...]:
    """Return what comparisons and probes showed at the sizes that decide.

    With `general`, what they showed at other sizes only.
    """
    found = [
        item
        for item in context.evidence_of("mismatch", "probe")
        if item.kind == "mismatch" or item.code.startswith("probe-")
    ]
    workloads = context.task.workloads if context.task is not None else ()
    others = {workload.name for workload in workloads if workload.role == "general"}
    return tuple(item for item in found if (item.workload in others) == general)


def seen_wrong(context: Context) -> bool:
    """Whether any result was wrong, at first or when the program was called again."""
    again = any(item.code in UNSTEADY for item in context.evidence_of("probe"))
    return again or bool(wrong_results(context) or wrong_results(context, general=True))


def has_wrapped(item: Evidence) -> bool:
    """Whether an access went to the address of a 32-bit index after overflow."""
    return isinstance(item.details, MemoryAccess) and item.details.wrapped


def ran_clean(context: Context, kernel: str) -> bool:
    """Whether the simulator ran the kernel to its end, with its checks on."""
    if context.device != "sim" or not any(kernel in launch.kernel for launch in context.launches):
        return False
    return not any(item.kind in RUN_KINDS and item.code in FATAL for item in context.evidence)


def ran_right(context: Context, kernel: str) -> bool:
    """Whether the kernel ran on the simulator, and all results were right."""
    return ran_clean(context, kernel) and not wrong_results(context)
