"""Joins what rules find in a text with what runs showed of the same kernels."""

from collections.abc import Iterable, Iterator, Sequence

from grader.records import Evidence, Finding
from grader.records.observed import kernel_of
from grader.rules.causes import cause_of
from grader.rules.rule import Rule

FORGIVEN = frozenset({"barrier-exited", "race-volatile"})
"""What a GPU carries on with (tests/gpu/recorded): wrong by CUDA's rules, right on the machine."""
CARRIED_ON = FORGIVEN | {"sync-exited-lanes"}
"""What alone makes no finding graver: a GPU carries on with it, and a result that is right stays right."""


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


def settle(
    rule: Rule,
    found: Sequence[tuple[str, Finding]],
    evidence: Iterable[Evidence],
    spans: Sequence[tuple[str, int, int]],
) -> Iterator[Finding]:
    """Join text findings of one rule with what runs showed of the same kernels.

    `found` pairs each text finding with its kernel's name; `spans` gives kernels (and helpers) with
    their first and last line. Evidence goes to the nearest text finding of the same kernel; what no
    text finding explains becomes a finding of its own. What runs did not show is weighed elsewhere
    (`grader.rules.refuted`).
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
        yield _proved(finding, proof) if proof else finding
    for items in rest.values():
        yield rule.finding(
            items[0].place,
            cause_of(items[0]),
            severity="warning" if items[0].code in FORGIVEN else "error",
            evidence=items,
        )


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
