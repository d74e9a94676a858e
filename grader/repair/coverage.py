"""Coverage of a folder's problem files by reference-fixed kernels: families, or the reason for none."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.errors import UsageError
from grader.records import Evaluation, Submission, Task
from grader.repair.compose import UncoveredError
from grader.repair.reference import compose_for_task, program
from grader.sandbox import Form
from grader.tasks.problem import load

Judge = Callable[[Task, Submission], Evaluation]
"""Puts a program for a problem's draft through the same evaluation as any submission."""


@dataclass(frozen=True)
class Covered:
    """One problem file."""

    path: Path
    families: tuple[str, ...] = ()
    """Families of its stages; empty where none covers it."""
    reason: str = ""
    """Why it isn't covered; the verdict's sentence where its kernel was evaluated."""
    verdict: str = ""
    """Status of its kernel's evaluation; empty where that was not asked for."""
    seconds: float = 0.0
    """Seconds of writing and evaluating it."""

    @property
    def said(self) -> str:
        """Return the row's text: families, verdict and seconds, or why it isn't covered."""
        if not self.families:
            return f"not covered: {self.reason}"
        words = " + ".join(self.families)
        if not self.verdict:
            return words
        because = "" if self.verdict == "correct" else f": {self.reason}"
        return f"{words}: {self.verdict} ({self.seconds:.0f} s){because}"


def problems(folder: Path) -> Iterator[tuple[Path, Task]]:
    """Yield the problem files below a folder and their drafts, by number.

    Raises UsageError where there is no such folder.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder} is no folder")
    for path in sorted(folder.rglob("*.py"), key=_order):
        try:
            yield path, load(path)
        except UsageError:
            continue


def cover_problem(path: Path, task: Task, form: Form, judge: Judge | None = None) -> Covered:
    """Trace one problem's reference and write its kernel; with `judge`, evaluate it."""
    begin = time.monotonic()
    try:
        made = compose_for_task(task, form)
    except UncoveredError as error:
        return Covered(path, reason=str(error), seconds=time.monotonic() - begin)
    if judge is None:
        return Covered(path, made.families, seconds=time.monotonic() - begin)
    verdict = judge(task, program(made.code, path.stem)).verdict
    seconds = time.monotonic() - begin
    return Covered(path, made.families, verdict.sentence, verdict.status, seconds)


def _order(path: Path) -> tuple[str, int, str]:
    number = path.stem.split("_")[0]
    return str(path.parent), int(number) if number.isdigit() else 0, path.stem
