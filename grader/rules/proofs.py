"""Joins what rules find in a text with what runs showed of the same kernels."""

from collections.abc import Iterable, Iterator, Sequence

from grader.records import Evidence, Finding, Severity
from grader.records.observed import kernel_of
from grader.rules.causes import cause_of
from grader.rules.rule import Rule
from grader.source import Source
from grader.source.analysis.walks import spans

FORGIVEN = frozenset({"barrier-exited", "race-volatile"})
"""What a GPU carries on with (tests/gpu/recorded): wrong by CUDA's rules, right on the machine."""
CARRIED_ON = FORGIVEN | {"sync-exited-lanes"}
"""What alone makes no finding graver: a GPU carries on with it, and a result that is right stays right."""


def once(found: Iterable[Finding | None]) -> Iterator[Finding]:
    """Yield the first finding of each set of kernels: what it says of a launch or a walk holds for the next one too."""
    told: set[tuple[str, ...]] = set()
    for finding in found:
        if finding is not None and finding.kernels not in told:
            told.add(finding.kernels)
            yield finding


def of_the_leavers(finding: Finding, code: str, source: Source) -> Finding:
    """Return a finding that rests on nothing but threads that have returned, with that as its cause.

    Each barrier and each exchange after the `return` shows them: one defect, one finding.
    """
    codes = {item.code.replace("_", "-") for item in finding.evidence}
    if finding.kernels or finding.cause or codes != {code}:
        return finding
    cause = f"threads left {kernel_of(finding.evidence[0], spans(source))}"
    return finding.model_copy(update={"cause": cause})


def confirm(
    found: Iterable[Finding], evidence: Iterable[Evidence], source: Source
) -> Iterator[Finding]:
    """Attach to each kernel's first finding what runs showed of that kernel; drop the rest."""
    pending: dict[str, list[Evidence]] = {}
    for item in evidence:
        pending.setdefault(kernel_of(item, spans(source)), []).append(item)
    for finding in found:
        proof = pending.pop(finding.kernels[0], None)
        yield _add_proof(finding, proof) if proof else finding


def settle(
    rule: Rule, found: Iterable[Finding], evidence: Iterable[Evidence], source: Source
) -> Iterator[Finding]:
    """Join text findings of one rule with what runs showed of the same kernels.

    Evidence goes to the nearest text finding of the same kernel; what no text finding explains becomes a
    finding of its own. What runs did not show is weighed elsewhere (`grader.rules.refuted`).
    """
    told, lines = tuple(found), spans(source)
    proofs: dict[int, list[Evidence]] = {}
    rest: dict[tuple[str, int], list[Evidence]] = {}
    for item in evidence:
        index = _nearest(item, told, lines)
        if index is not None:
            proofs.setdefault(index, []).append(item)
        else:
            rest.setdefault((item.code, item.place.line if item.place else 0), []).append(item)
    for index, finding in enumerate(told):
        yield _add_proof(finding, proofs[index]) if index in proofs else finding
    for items in rest.values():
        weight: Severity = "warning" if items[0].code in FORGIVEN else "error"
        yield rule.finding(items[0].place, cause_of(items[0]), severity=weight, evidence=items)


def _add_proof(finding: Finding, proof: Sequence[Evidence]) -> Finding:
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
    item: Evidence, found: Sequence[Finding], kernels: Sequence[tuple[str, int, int]]
) -> int | None:
    """Return which finding is nearest to a line of the evidence, in its kernel or beside that line."""
    lines = [place.line for place in (item.place, *item.related) if place is not None]
    distances: list[tuple[int, int]] = []
    for index, finding in enumerate(found):
        if finding.place is not None:
            own = [(first, last) for name, first, last in kernels if name in finding.kernels[:1]]
            inside = not lines or any(a <= line <= b for a, b in own for line in lines)
            distance = min((abs(line - finding.place.line) for line in lines), default=0)
            if inside or distance <= 1:
                distances.append((distance, index))
    return min(distances, default=(0, None))[1]
