"""What was observed against what the text says: evidence confirms findings, or takes them back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from grader.records import Evidence, Finding
from grader.rules.rule import Context, Rule

RUN_KINDS = ("simulator", "sanitizer")
FATAL = frozenset(
    {"deadlock", "livelock", "launch-error", "trapped", "assert-failed", "illegal-access"}
)
"""After these a kernel did not run to its end: what it didn't show may still be there."""
GROUPS: dict[str, frozenset[str]] = {
    "uninit": frozenset({"uninit-shared-read", "uninit-shared"}),
    "race": frozenset({"race", "race-volatile", "shared-race", "race-shared"}),
    "global-race": frozenset({"global-race", "race-global"}),
    "divergence": frozenset({"barrier-divergence", "deadlock", "livelock"}),
    "exited": frozenset({"barrier-exited", "sync-exited"}),
    "shuffle": frozenset({"shuffle-absent", "sync-not-in-mask", "shuffle-mask", "sync-exited"}),
    "oob": frozenset({"oob", "out-of-bounds", "use-after-free"}),
    "shared-oob": frozenset({"shared-oob", "shared-out-of-bounds"}),
    "misaligned": frozenset({"misaligned"}),
    "input-written": frozenset({"input-written", "constant-written"}),
    "uninit-global": frozenset({"uninit-global", "uninit-global-read"}),
    "unwritten": frozenset({"unwritten-output", "unwritten"}),
    "launch": frozenset({"launch-error"}),
}


def observed(context: Context, *groups: str) -> tuple[Evidence, ...]:
    """Return the evidence of these groups that runs gave, with a place."""
    codes = frozenset().union(*(GROUPS[group] for group in groups))
    return tuple(
        item
        for item in context.evidence
        if item.kind in RUN_KINDS and item.code.replace("_", "-") in codes
    )


def ran_clean(context: Context, kernel: str) -> bool:
    """Whether the simulator ran the kernel to its end, with its checks on."""
    if context.device != "sim" or not any(kernel in launch.kernel for launch in context.launches):
        return False
    return not any(item.kind in RUN_KINDS and item.code in FATAL for item in context.evidence)


def settle(
    rule: Rule,
    found: Sequence[tuple[str, Finding]],
    evidence: Iterable[Evidence],
    context: Context,
    spans: Sequence[tuple[str, int, int]],
    *,
    contradict: bool = True,
) -> Iterator[Finding]:
    """Join text findings of one rule with what runs showed of the same kernels.

    `found` pairs each text finding with its kernel's name; `spans` gives kernels (and helpers) with
    their first and last line. Evidence goes to the nearest text finding of the same kernel; what no
    text finding explains becomes a finding of its own. A text finding is dropped when the kernel ran
    to its end on the simulator and showed nothing of the kind.
    """
    pending: dict[int, list[Evidence]] = {}
    rest: dict[tuple[str, int], list[Evidence]] = {}
    for item in evidence:
        index = _nearest(item, found, spans)
        if index is not None:
            pending.setdefault(index, []).append(item)
        else:
            rest.setdefault((item.code, item.place.line if item.place else 0), []).append(item)
    for index, (kernel, finding) in enumerate(found):
        proof = pending.get(index)
        if proof:
            yield finding.model_copy(
                update={"confidence": "proven", "evidence": (*finding.evidence, *proof)}
            )
        elif not (contradict and ran_clean(context, kernel)):
            yield finding
    for items in rest.values():
        yield rule.finding(items[0].place, items[0].text, confidence="proven", evidence=items)


def _nearest(
    item: Evidence,
    found: Sequence[tuple[str, Finding]],
    spans: Sequence[tuple[str, int, int]],
) -> int | None:
    best: tuple[int, int] | None = None
    lines = [p.line for p in (item.place, *item.related) if p is not None]
    for index, (kernel, finding) in enumerate(found):
        if finding.place is None:
            continue
        inside = not lines or any(
            first <= line <= last for name, first, last in spans if name == kernel for line in lines
        )
        distance = min((abs(line - finding.place.line) for line in lines), default=0)
        if (inside or distance <= 1) and (best is None or distance < best[0]):
            best = (distance, index)
    return best[1] if best else None
