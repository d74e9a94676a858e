"""An examiner whose answers a test writes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from grader.diagnose import Program
from grader.records import Evaluation, Finding, Submission


def no_findings(_submission: Submission) -> tuple[Finding, ...]:
    """Find nothing."""
    return ()


@dataclass(frozen=True)
class Scripted:
    """Says of each program what two functions of its text say; see `diagnose.Examiner`."""

    evaluate: Callable[[Submission], Evaluation]
    inspect: Callable[[Submission], tuple[Finding, ...]] = no_findings

    def examine(self, submission: Submission) -> Program:
        return Program(submission, self.evaluate(submission), self.inspect(submission))
