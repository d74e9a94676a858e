"""Soundness: undefined behaviour proved by runs, which makes right values a matter of luck.

It depends on the codes of evidence alone, not on rules or sentences, so that verdict and findings have the same basis.
A sanitizer's output comes from the submission's own process, but it only counts against the submission, so that lying
gains nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from grader.records import Confidence, Evidence, Finding, Place, Race, Run, Verdict

UNDEFINED: Mapping[str, str] = {
    "out-of-bounds": "memory is accessed out of bounds",
    "shared-out-of-bounds": "shared memory is accessed out of bounds",
    "local-out-of-bounds": "a thread's own array is accessed out of bounds",
    "use-after-free": "memory is accessed after it was freed",
    "misaligned": "an access is misaligned",
    "race": "a data race on shared memory",
    "global-race": "a data race on global memory",
    "uninit-shared-read": "shared memory that nobody has written is used",
    "uninit-global-read": "memory that nobody has written is used",
    "uninit-local-read": "a variable that was never set is used",
    "unwritten-output": "a part of the result was never written",
    "barrier-divergence": "a barrier is not reached by all threads",
    "sync-lane-not-in-mask": "a warp-wide operation is executed by a lane that its mask leaves out",
    "shuffle-absent-lane": "a shuffle reads a lane that takes no part",
    "constant-written": "constant memory is written",
    "input-changed": "the caller's data is overwritten",
}
"""Undefined behaviour that makes a right value luck, by the evidence's code, in plain words."""
BENIGN: Mapping[str, str] = {
    "barrier-exited": "a barrier waits only for the threads that have not returned",
    "sync-exited-lanes": "a warp-wide operation waits only for the lanes that have not returned",
    "race-volatile": "the threads of a warp exchange values through `volatile`, in steps that GPUs keep together",
    "same-value-race": "whichever store is the last, the same value stays",
}
"""Behaviour that CUDA forbids or leaves undefined but that GPUs tolerate (tests/gpu/recorded), with the reason that no
result changes."""
SANITIZER = frozenset(
    {"out-of-bounds", "shared-out-of-bounds", "local-out-of-bounds", "misaligned", "race"}
)
"""Codes for which compute-sanitizer's report suffices: it doesn't follow an unwritten value to its use, nor distinguish
threads that have returned from threads in another branch."""
LOWER: Mapping[Confidence, Confidence] = {"proven": "likely", "likely": "possible"}


def proves_undefined(item: Evidence) -> bool:
    """Whether evidence proves undefined behaviour."""
    if item.kind == "sanitizer":
        harmless = isinstance(item.details, Race) and item.details.within_warp
        return item.code in SANITIZER and not harmless
    return item.kind in {"simulator", "probe"} and item.code in UNDEFINED


def clean(run: Run) -> bool:
    """Whether a run saw no undefined behaviour, or only benign one."""
    return all(item.code in BENIGN for item in run.evidence)


def proofs(
    runs: Iterable[Run], probes: Iterable[Evidence], workloads: Collection[str]
) -> tuple[Evidence, ...]:
    """Return the evidence that proves undefined behaviour on these workloads, each kind and line once."""
    seen = [item for run in runs for item in run.evidence]
    stores = (item.place for item in seen if item.code == "input-written")
    store = next(stores, None)
    found: dict[tuple[str, int], Evidence] = {}
    for item in (*seen, *probes):
        if proves_undefined(item) and item.workload in workloads:
            found.setdefault((item.code, _line(item)), item)
    return tuple(_place_evidence(item, store) for item in found.values())


def _place_evidence(item: Evidence, store: Place | None) -> Evidence:
    """Return the host's evidence on a changed argument with the kernel's line that wrote to it, where known."""
    unplaced = item.code == "input-changed" and item.place is None
    return item.model_copy(update={"place": store}) if unplaced else item


def benign(runs: Iterable[Run], workloads: Collection[str]) -> Iterator[str]:
    """Yield in words, each kind and line once, benign behaviour that resembles undefined behaviour and changes no result."""
    found: dict[tuple[str, int], str] = {}
    for item in (item for run in runs for item in run.evidence):
        if item.code in BENIGN and item.workload in workloads:
            said = f"{at_line(item)}{item.text.rstrip('.')}; benign: {BENIGN[item.code]}"
            found.setdefault((item.code, _line(item)), said)
    yield from found.values()


def reasons_unexamined(checked: Iterable[Run], workloads: Collection[str]) -> Iterator[str]:
    """Yield in words, each reason once, why the checker could not look for undefined behaviour."""
    why: dict[str, Run] = {}
    for run in checked:
        if run.workload in workloads and run.status != "ran":
            why.setdefault(f"{run.status}: {run.reason}", run)
    for run in why.values():
        on_it = f" on {run.device}" if run.device != "none" else ""
        ended = (
            "" if run.status == "not_run" else f"on {run.workload} it ended there as {run.status}: "
        )
        yield f"not examined{on_it} for races and accesses out of bounds: {ended}{' '.join(run.reason.split())}"


def sentence(found: Sequence[Evidence], where: str) -> str:
    """Return the verdict's sentence, line and cause first; `where` names the workloads with right values."""
    said = brief(found[0])
    others = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return f"{said[:1].upper()}{said[1:]}{others}; {luck(where)}."


def luck(where: str) -> str:
    """Return a clause that the values are right by luck; `where` names the workloads."""
    return f"the values came out right on {where} by luck"


def brief(item: Evidence) -> str:
    """Return line, cause and observation, and the other device that saw it, without a full stop."""
    seen_on = f" (seen on {item.device})" if item.device else ""
    return f"{at_line(item)}{UNDEFINED[item.code]}: {item.text.rstrip('.')}{seen_on}"


def in_keeping(verdict: Verdict, findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return the findings made consistent with the verdict, as the last step before a review.

    A defect that runs prove makes the verdict something else than `correct`. An error finding beside `correct` rests on
    the text, or on behaviour that changed no result, and no run confirmed it: it becomes a warning of lower confidence.
    """
    if verdict.status != "correct":
        return tuple(findings)
    return tuple(_lower_severity(one) if one.severity == "error" else one for one in findings)


def _lower_severity(finding: Finding) -> Finding:
    confidence = LOWER.get(finding.confidence, finding.confidence)
    return finding.model_copy(update={"severity": "warning", "confidence": confidence})


def _line(item: Evidence) -> int:
    return item.place.line if item.place is not None else 0


def at_line(item: Evidence) -> str:
    """Return the place of evidence as the beginning of a clause; empty where it has no line."""
    return f"line {_line(item)}, " if item.place is not None else ""
