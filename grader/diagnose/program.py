"""A program under examination: its text, evaluation and findings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from grader.judge import proofs
from grader.records import Evaluation, Evidence, Finding, Fix, Mismatch, Submission, ToolMessage


@dataclass(frozen=True)
class Program:
    """One state of a submission between its original and its right form."""

    submission: Submission
    evaluation: Evaluation
    findings: tuple[Finding, ...]
    fixes: tuple[tuple[Finding, Fix], ...] = ()
    """The fixes so far, and their findings."""
    trouble: tuple[str, ...] = ()
    """Rules that failed on it, or did not run; the grader's own fault."""

    @property
    def status(self) -> str:
        """The verdict's status."""
        return self.evaluation.verdict.status

    @property
    def passes(self) -> bool:
        """Whether everything that can be judged is right."""
        return self.evaluation.verdict.passes

    @property
    def goes_wrong(self) -> bool:
        """Whether there is evidence against it: its verdict or, where values are not judged, its runs."""
        verdict = self.evaluation.verdict
        return verdict.unhurt is False or self.status not in SILENT

    @property
    def rank(self) -> tuple[int, float, int, int, int]:
        """The program's progress: greater is better. Equally wrong results for fewer reasons are progress too.

        So are fewer lines with proven undefined behaviour, and a compiler error later in the text.
        """
        wrong = wrong_share(self.evaluation)
        return self.stage, -wrong, -self._unread, -len(self._proven), -len(self._undefined)

    @property
    def stage(self) -> int:
        """The stage it reached, ignoring defects there."""
        return _stage(self.evaluation)

    @property
    def _unread(self) -> int:
        """Number of lines after the one that Triton's compiler refused, since it stops at the first."""
        errors = self.evaluation.build.errors if self.evaluation.build else ()
        of_triton = [
            e for e in errors if isinstance(e.details, ToolMessage) and e.details.tool == "triton"
        ]
        lines = [one.place.line for one in of_triton if one.place is not None]
        return self.submission.code.count("\n") - max(lines) if lines else 0

    @property
    def _undefined(self) -> tuple[Evidence, ...]:
        runs = self.evaluation.runs
        return proofs(runs, self.evaluation.probes, {run.workload for run in runs})

    @property
    def _proven(self) -> set[str]:
        """The rules that runs proved the program to break."""
        found = (item for item in self.findings if item.severity == "error")
        return {item.rule for item in found if item.confidence == "proven"}


class Examiner(Protocol):
    """Examines programs against one task, in the same way for all callers."""

    def examine(self, submission: Submission) -> Program:
        """Build, run, judge and inspect a program; a failure of the grader becomes its verdict."""


SILENT = frozenset({"correct", "grader_error", "not_run", "no_task"})
"""Statuses that alone are no evidence against a program."""
STAGES = {
    "grader_error": -1,
    "no_code": 0,
    "rejected": 0,
    "build_timeout": 1,
    "build_failed": 1,
    "not_run": 2,
    "crashed": 3,
    "hung": 3,
    "timeout": 3,
    "no_task": 4,
    "incorrect": 5,
    "dishonest": 5,
    "unsound": 6,
    "correct": 7,
}


def _stage(evaluation: Evaluation) -> int:
    """Return the number of the stage that was reached.

    A program that crashes on one workload (the task's own size, say) and is right on all others reaches the same stage
    as one that is wrong there.
    """
    if evaluation.build is not None and evaluation.build.status == "failed":
        return STAGES["build_failed"]
    stage = STAGES.get(evaluation.verdict.status, 0)
    without = [run for run in evaluation.runs if run.status != "ran"]
    right = [item.equal for item in evaluation.comparisons if item.decides]
    if stage == STAGES["crashed"] and len(without) == 1 and right and all(right):
        return STAGES["incorrect"]
    return stage


OTHER_FORM = 1.5
"""Share for a result of a wrong shape or type, whose elements can't be compared: worse than all wrong."""


def wrong_share(evaluation: Evaluation) -> float:
    """Return the mean share of wrong elements over the compared workloads, 0 to 1; `OTHER_FORM` for another form."""
    shares = [
        _share(item.mismatch) if item.mismatch else 0.0
        for item in evaluation.comparisons
        if item.decides
    ]
    return sum(shares) / len(shares) if shares else 1.0


def _share(mismatch: Mismatch) -> float:
    compared = mismatch.kind in {"values", "nonfinite", "unwritten"}
    return mismatch.fraction or 1.0 if compared else OTHER_FORM
