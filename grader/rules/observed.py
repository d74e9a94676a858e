"""What was observed against what the text says: evidence confirms findings, or takes them back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.records import (
    Dependence,
    LaunchRefused,
    MemoryAccess,
    ProbedInput,
    Slice,
    WrongValues,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from grader.records import Evidence, Finding, Fix, Limit
    from grader.rules.rule import Context, Rule

KERNELS_MATTER = "kernels-matter"
"""Code of a probe: the results are others when no kernel runs."""
UNSTEADY = frozenset({"order-matters", "result-changed"})
"""Codes of probes: a result that was right isn't any more when the program is called again."""
MOST_PROOFS = 4
"""Proofs of one finding that fixes are looked for: the same line is often seen on many workloads."""
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
"""After these a kernel did not run to its end: what it didn't show may still be there."""
FORGIVEN = frozenset({"barrier-exited", "race-volatile"})
"""What a GPU carries on with (tests/gpu/recorded): wrong by CUDA's rules, right on the machine."""
CARRIED_ON = FORGIVEN | {"sync-exited-lanes"}
"""What alone makes no finding graver: a GPU carries on with it, and a result that is right stays right."""
GROUPS: dict[str, frozenset[str]] = {
    "uninit": frozenset({"uninit-shared-read"}),
    "uninit-local": frozenset({"uninit-local-read"}),
    "race": frozenset({"race"}),
    "race-volatile": frozenset({"race-volatile"}),
    "global-race": frozenset({"global-race"}),
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
"""The simulator's kinds (`grader.simulator.wording.KINDS`) by what explains them."""


def kernel_of(item: Evidence, spans: Sequence[tuple[str, int, int]]) -> str:
    """Return the kernel that evidence is about: the one it names, or the one around its line."""
    named = item.kernel
    for name, _, _ in spans:
        if named and (name == named or name in named):
            return name
    line = item.place.line if item.place else 0
    return next((name for name, first, last in spans if first <= line <= last), named)


def observed(context: Context, *groups: str) -> tuple[Evidence, ...]:
    """Return the evidence of these groups that runs gave, with a place."""
    codes = frozenset().union(*(GROUPS[group] for group in groups))
    return tuple(
        item
        for item in context.evidence
        if item.kind in RUN_KINDS and item.code.replace("_", "-") in codes
    )


def dependence_differs(context: Context) -> bool:
    """Whether a run showed that wrong elements are made of others than the reference's."""
    return any(isinstance(item.details, Dependence) for item in context.evidence)


def slices(context: Context) -> tuple[Slice, ...]:
    """Return what made the wrong elements that a run followed."""
    found = (item.details for item in context.evidence)
    return tuple(details for details in found if isinstance(details, Slice))


def values_of(item: Evidence) -> WrongValues:
    """Return what the wrong elements have in common; nothing for other evidence."""
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
        for item in context.seen("mismatch", "probe")
        if item.kind == "mismatch" or item.code.startswith("probe-")
    ]
    workloads = context.task.workloads if context.task is not None else ()
    others = {workload.name for workload in workloads if workload.role == "general"}
    return tuple(item for item in found if (item.workload in others) == general)


def seen_wrong(context: Context) -> bool:
    """Whether any result was wrong, at first or when the program was called again."""
    again = any(item.code in UNSTEADY for item in context.seen("probe"))
    return again or bool(wrong_results(context) or wrong_results(context, general=True))


def refused(context: Context, *limits: Limit) -> tuple[Evidence, ...]:
    """Return the launches that runs saw refused for one of these limits."""
    return tuple(
        item
        for item in observed(context, "launch")
        if isinstance(item.details, LaunchRefused) and item.details.limit in limits
    )


def wrapped(item: Evidence) -> bool:
    """Whether an access went where a 32-bit index leads after it overflows."""
    return isinstance(item.details, MemoryAccess) and item.details.wrapped


def launch_cause(kernel: str, proof: Sequence[Evidence]) -> str:
    """Return the cause that joins a finding about a launch with the run's own word on it."""
    return f"launch {kernel}" if proof else ""


def of_the_leavers(finding: Finding, code: str, spans: Sequence[tuple[str, int, int]]) -> Finding:
    """Return a finding that rests on nothing but threads that have returned, with that as its cause.

    Each barrier and each exchange after the `return` shows them: one defect, one finding.
    """
    codes = {item.code.replace("_", "-") for item in finding.evidence}
    if finding.kernels or finding.cause or codes != {code}:
        return finding
    cause = f"threads left {kernel_of(finding.evidence[0], spans)}"
    return finding.model_copy(update={"cause": cause})


def confirm(
    found: Iterable[tuple[str, Finding]],
    evidence: Iterable[Evidence],
    spans: Sequence[tuple[str, int, int]],
) -> Iterator[Finding]:
    """Attach to each kernel's first finding what runs showed of that kernel; drop the rest."""
    pending: dict[str, list[Evidence]] = {}
    for item in evidence:
        pending.setdefault(kernel_of(item, spans), []).append(item)
    for kernel, finding in found:
        proof = pending.pop(kernel, None)
        if proof:
            yield _proved(finding, proof)
        else:
            yield finding


def ran_clean(context: Context, kernel: str) -> bool:
    """Whether the simulator ran the kernel to its end, with its checks on."""
    if context.device != "sim" or not any(kernel in launch.kernel for launch in context.launches):
        return False
    return not any(item.kind in RUN_KINDS and item.code in FATAL for item in context.evidence)


def ran_right(context: Context, kernel: str) -> bool:
    """Whether the kernel ran on the simulator, and all results were what was asked for."""
    return ran_clean(context, kernel) and not wrong_results(context)


def settle(
    rule: Rule,
    found: Sequence[tuple[str, Finding]],
    evidence: Iterable[Evidence],
    spans: Sequence[tuple[str, int, int]],
    fixes: Callable[[Evidence], Iterable[Fix]] = lambda _: (),
) -> Iterator[Finding]:
    """Join text findings of one rule with what runs showed of the same kernels.

    `found` pairs each text finding with its kernel's name; `spans` gives kernels (and helpers) with
    their first and last line. Evidence goes to the nearest text finding of the same kernel; what no
    text finding explains becomes a finding of its own. What runs did not show is weighed elsewhere
    (`grader.rules.refuted`). `fixes` gives what settles evidence by itself; a text finding's own fixes come first.
    """
    pending: dict[int, list[Evidence]] = {}
    rest: dict[tuple[str, int], list[Evidence]] = {}
    for item in evidence:
        index = _nearest(item, found, spans)
        if index is not None:
            pending.setdefault(index, []).append(item)
        else:
            rest.setdefault((item.code, item.place.line if item.place else 0), []).append(item)
    for index, (_, finding) in enumerate(found):
        proof = pending.get(index)
        if proof:
            proved = _proved(finding, proof)
            yield proved.model_copy(update={"fixes": _once(proved.fixes, proof, fixes)})
        else:
            yield finding
    for items in rest.values():
        yield rule.finding(
            items[0].place,
            items[0].text,
            severity="warning" if items[0].code in FORGIVEN else "error",
            confidence="proven",
            evidence=items,
            fixes=_once((), items, fixes),
        )


def _once(
    known: Sequence[Fix], proof: Sequence[Evidence], fixes: Callable[[Evidence], Iterable[Fix]]
) -> tuple[Fix, ...]:
    """Return the known fixes and those of the first few proofs, each once."""
    more = [fix for item in proof[:MOST_PROOFS] for fix in fixes(item)]
    edits = {fix.edits: fix for fix in reversed((*known, *more))}
    return tuple(reversed(edits.values()))


def _proved(finding: Finding, proof: Sequence[Evidence]) -> Finding:
    """Return a finding of the text with what runs showed of it: an error, unless GPUs carry on with that."""
    harmless = all(item.code.replace("_", "-") in CARRIED_ON for item in proof)
    return finding.model_copy(
        update={
            "severity": finding.severity if harmless else "error",
            "confidence": "proven",
            "evidence": (*finding.evidence, *proof),
        }
    )


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
