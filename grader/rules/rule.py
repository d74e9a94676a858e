"""The record of a rule: one kind of defect with its explanation, detection and fix."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypedDict, Unpack

from grader.records import (
    AccessShape,
    Confidence,
    Context,
    Evidence,
    Finding,
    Fix,
    Place,
    Prediction,
    Severity,
)
from grader.rules.families import family_of
from grader.source import Source

Check = Callable[["Source", Context], Iterable[Finding]]


class More(TypedDict, total=False):
    """Fields of a finding that are passed on unchanged."""

    access: AccessShape | None
    cause: str
    root_cause: bool
    last_resort: bool
    other_form: bool
    rejects: bool
    delegates: bool
    reads_no_input: bool
    folded: bool
    workload: str


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One kind of defect; the texts of our own are read from the page beside each (`page_file`)."""

    code: str
    """Three letters of the family and a number, e.g. `SYN001`."""
    name: str
    """In kebab case: `shared-read-before-any-write`."""
    formerly: tuple[str, ...] = ()
    """Codes of rules that are part of this one now; whoever names one of them means this rule."""
    severity: Severity = "error"
    """Default severity; a finding may have another."""
    summary: str
    """One sentence: what is wrong and what it does."""
    why: str
    """Why it matters, and how it is put right, in a short paragraph."""
    bad: str = ""
    """A program in which the rule fires; a rule of our own has examples on its page."""
    good: str = ""
    """One in which it does not; an honest look-alike."""
    guards: str
    """Cases that it deliberately does not report, with reasons."""
    fix: str = ""
    """Description of its fixes; empty where it has none."""
    check: Check
    predicts: Prediction | None = None
    """The observation in a build or run that it predicts; None for its family's default."""
    conditions: str = ""
    """Condition under which it shows, beyond a run that reaches its lines; a finding may have another."""
    languages: tuple[str, ...] = ()
    """Languages whose own text it reads (`grader.languages`); empty where Python code or evidence is enough, in whatever language."""
    certain_from_text: bool = False
    """Whether the text alone proves it; otherwise it is at most a warning until a build or a run shows it."""
    explained_by: tuple[str, ...] = ()
    """Codes of rules after which, on the same lines, this one has nothing to add."""
    effect: bool = False
    """Whether it names a run's behaviour, such as an access out of bounds, whose cause is at another line."""
    catch_all: bool = False
    """Whether it only repeats a tool's message; any rule that explains the message takes precedence."""

    @property
    def codes(self) -> tuple[str, ...]:
        """Its code, and those of rules merged into it."""
        return (self.code, *self.formerly)

    @property
    def prediction(self) -> Prediction:
        """The observation in a build or run that it predicts."""
        return self.predicts or family_of(self.code).predicts

    def finding(
        self,
        place: Place | None,
        message: str,
        *,
        severity: Severity | None = None,
        confidence: Confidence | None = None,
        evidence: Iterable[Evidence] = (),
        fixes: Iterable[Fix] = (),
        kernels: Iterable[str] = (),
        names: Iterable[str] = (),
        predicts: Prediction | None = None,
        conditions: str | None = None,
        **more: Unpack[More],
    ) -> Finding:
        """Return a finding of this rule.

        The fields are those of `Finding`. `predicts`, `conditions` and `workload` say what a run shows
        where it is right, and at which sizes (`grader.rules.refuted`); a note predicts nothing unless
        it is said. With evidence it is `proven`, unless it is said otherwise.
        """
        weight = severity or self.severity
        shown = tuple(evidence)
        usually: Prediction = "nothing" if weight == "note" else self.prediction
        return Finding(
            rule=self.code,
            name=self.name,
            severity=weight,
            confidence=confidence or ("proven" if shown else "likely"),
            message=message,
            place=place,
            evidence=shown,
            fixes=tuple(fixes),
            predicts=predicts or usually,
            conditions=self.conditions if conditions is None else conditions,
            kernels=tuple(name for name in kernels if name),
            names=tuple(names),
            **more,
        )
