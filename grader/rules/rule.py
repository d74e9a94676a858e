"""What a rule is: one kind of defect with its explanation, detection, examples and mend."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from grader.records import (
    Confidence,
    Evidence,
    Extraction,
    Finding,
    Fix,
    JsonValue,
    KernelResources,
    Launch,
    LineCount,
    Place,
    Sample,
    Severity,
    Task,
)

if TYPE_CHECKING:
    from grader.source import Source

Detector = Literal["text", "build", "evidence"]


@dataclass(frozen=True)
class Context:
    """What is known beside the submission's text; everything in it may be missing."""

    task: Task | None = None
    torch_version: tuple[int, int] = (2, 6)
    """Major and minor version of the torch that builds it."""
    evidence: tuple[Evidence, ...] = ()
    """What compilers, the simulator, probes and sanitizers showed."""
    resources: tuple[KernelResources, ...] = ()
    counts: tuple[LineCount, ...] = ()
    launches: tuple[Launch, ...] = ()
    extraction: Extraction | None = None
    sample: Sample | None = None
    device: str = "none"
    """Where it ran: `sim`, `cuda`, or `none` while there is only text."""

    def seen(self, *kinds: str) -> tuple[Evidence, ...]:
        """Return the evidence of these kinds, in the order in which it was observed."""
        return tuple(item for item in self.evidence if item.kind in kinds)


@dataclass(frozen=True)
class Example:
    """A submission (or a CUDA snippet, see `examples.as_submission`) with what is known of it."""

    code: str
    context: Context = field(default_factory=Context)


Examples = str | Example | tuple[str | Example, ...]
Check = Callable[["Source", Context], Iterable[Finding]]


@dataclass(frozen=True)
class Rule:
    """One kind of defect; the pages under docs/rules/ are made from these fields."""

    code: str
    """Three letters of the family and a number, e.g. `SYN001`."""
    name: str
    """In kebab case: `shared-read-before-any-write`."""
    severity: Severity
    """The usual one; a finding may carry another."""
    summary: str
    """One sentence: what is wrong and what it does."""
    why: str
    """Why it matters, and how it is put right, in a short paragraph."""
    bad: Examples
    """Examples in which the rule fires."""
    good: Examples
    """Examples in which it does not; the honest look-alikes belong here."""
    detects: tuple[Detector, ...]
    """From what it is found: the text, the build's evidence, the evidence of runs."""
    guards: str
    """What it deliberately does not report, and why."""
    mend: str
    """What its fixes do; empty where it only explains."""
    check: Check

    def finding(
        self,
        place: Place | None,
        message: str,
        *,
        severity: Severity | None = None,
        confidence: Confidence = "likely",
        evidence: Iterable[Evidence] = (),
        fixes: Iterable[Fix] = (),
        data: Mapping[str, JsonValue] | None = None,
    ) -> Finding:
        """Return a finding of this rule.

        `data["fold"] = True` marks notes that hit nearly every kernel: reports collect them
        into one line. `data["cause"]`, a string, names the defect: findings of several rules
        with the same cause are merged into the one that takes precedence. `data["rejects"] = True`
        marks what the text alone proves to be cheating by construction.
        """
        return Finding(
            rule=self.code,
            name=self.name,
            severity=severity or self.severity,
            confidence=confidence,
            message=message,
            place=place,
            evidence=tuple(evidence),
            fixes=tuple(fixes),
            data=dict(data or {}),
        )
