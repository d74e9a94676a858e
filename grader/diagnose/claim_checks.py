"""Checks of a transcript's claims against evidence from runs and findings of rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from grader.judge import proves_undefined
from grader.languages import read
from grader.records import Evaluation, Evidence, Finding
from grader.source import Source

Outcome = tuple[Literal["true", "false", "not checked"], str]
Check = Callable[["Facts"], Outcome]
RACES = frozenset({"race", "global-race", "barrier-divergence", "deadlock", "grid-deadlock"})
OUTSIDE = frozenset(
    {"out-of-bounds", "shared-out-of-bounds", "local-out-of-bounds", "use-after-free", "outside"}
)
UNSET = frozenset(
    {"uninit-shared-read", "uninit-global-read", "uninit-local-read", "unwritten-output"}
)


@dataclass(frozen=True)
class Facts:
    """The facts that a claim is checked against."""

    source: Source
    evaluation: Evaluation
    findings: tuple[Finding, ...]

    def first(self, *codes: str, notes: bool = False) -> Finding | None:
        """Return the first error or warning of these rules; with `notes`, the first finding."""
        return next(
            (
                item
                for item in self.findings
                if item.rule in codes and (notes or item.severity != "note")
            ),
            None,
        )

    def device_text(self) -> str:
        """Return all code for the device."""
        texts = (one for reading in read(self.source) for one in reading.texts)
        return "\n".join(one.text for one in texts if one.has_kernels)

    def observed_evidence(self) -> Iterator[Evidence]:
        """Yield the evidence at any size, whether or not the verdict depends on it."""
        for run in self.evaluation.runs:
            yield from run.evidence
        yield from self.evaluation.probes
        for item in self.evaluation.comparisons:
            yield from item.mismatch.patterns if item.mismatch is not None else ()

    def ran(self) -> int:
        """Return the number of completed workloads; 0 where one did not complete."""
        runs = self.evaluation.runs
        return len(runs) if all(run.status == "ran" for run in runs) else 0


def without(codes: frozenset[str], rules: tuple[str, ...], holds: str) -> Check:
    """Check that no run of any size showed one of these, and no rule names it.

    Only a device that checks each access can confirm the claim.
    """

    def check(facts: Facts) -> Outcome:
        seen = next((item for item in facts.observed_evidence() if item.code in codes), None)
        if seen is not None:
            return "false", _evidence_sentence(seen)
        outcome, because = against(rules, holds)(facts)
        if outcome != "true":
            return outcome, because
        if facts.evaluation.device != "sim" or not facts.ran():
            return "not checked", "no run to the end on the simulator, which looks for it"
        return "true", f"{holds} on {facts.ran()} workload{'s' * (facts.ran() > 1)}"

    return check


def against(codes: tuple[str, ...], holds: str, notes: bool = False) -> Check:
    """Check that no finding of these rules contradicts the claim."""

    def check(facts: Facts) -> Outcome:
        finding = facts.first(*codes, notes=notes)
        if finding is not None:
            where = f" (line {finding.place.line})" if finding.place else ""
            return "false", f"{finding.rule} {finding.name}{where}: {finding.message}"
        if any(run.status == "ran" for run in facts.evaluation.runs):
            return "true", holds
        return "not checked", "nothing ran that could show it"

    return check


def stable(facts: Facts) -> Outcome:
    """Check that inputs which stress a formula (large, widely spread) gave finite results, and no rule objects."""
    strained = [item for item in facts.evaluation.comparisons if item.role == "stress"]
    for item in strained:
        if item.decides and item.mismatch is not None and item.mismatch.kind == "nonfinite":
            return "false", f"on {item.workload}, {item.mismatch.text}"
    outcome, because = against(("NUM008", "NUM004"), "no unstable formula was found")(facts)
    wrong = next((item for item in strained if item.decides and not item.equal), None)
    if outcome == "true" and wrong is not None:
        return "not checked", f"the result is wrong on {wrong.workload}, for whatever reason"
    return outcome, because


def any_size(facts: Facts) -> Outcome:
    """Check that the results are right at all tested sizes, and not by luck."""
    verdict = facts.evaluation.verdict
    seen = next((item for item in facts.observed_evidence() if proves_undefined(item)), None)
    if seen is not None:
        return "false", _evidence_sentence(seen)
    wrong = next(
        (one for one in facts.evaluation.comparisons if one.decides and not one.equal), None
    )
    if wrong is not None:
        return "false", f"wrong at {wrong.workload}"
    if verdict.general is None:
        return "not checked", "the other sizes were not run"
    return (
        ("true", "right at every size that was tried")
        if verdict.general
        else ("false", "wrong at other sizes")
    )


def _evidence_sentence(item: Evidence) -> str:
    at = f"line {item.place.line}, " if item.place is not None else ""
    on = f"on {item.workload}, " if item.workload else ""
    return f"{on}{at}{item.text}"
