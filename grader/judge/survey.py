"""What wrong programs would get on each problem of a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from grader.errors import GraderError, UsageError
from grader.judge.audit import AuditRow, audit, weaknesses
from grader.judge.describe import describe
from grader.records import Task
from grader.sandbox import Form, Limits
from grader.tasks.problem import load

PROGRAMS = (
    "zeros",
    "a constant",
    "a constant multiple",
    "half precision",
    "the input",
    "a skipped part",
    "the answer to other inputs",
)
"""What is tried, in the order of a table's columns."""


SECONDS = 60.0
"""Time of each guest that is asked about a problem; where it isn't enough, the note says so."""


@dataclass(frozen=True)
class Surveyed:
    """One problem file."""

    name: str
    rows: tuple[AuditRow, ...] = ()
    note: str = ""
    """Why it could not be asked."""

    @property
    def weak(self) -> tuple[str, ...]:
        """Return why verdicts on it mean little."""
        return weaknesses(self.rows)

    def cell(self, program: str) -> str:
        """Return what a wrong program would get.

        `caught`, `passes` (ours), `caught, passes KernelBench's` (its tolerance at nominal sizes), or
        `-` where it can't be said of this problem.
        """
        row = next((row for row in self.rows if row.program == program), None)
        if row is None or not (row.passes or row.fails):
            return "-"
        if not row.caught:
            return "passes"
        return "caught, passes KernelBench's" if row.kernelbench else "caught"


def survey(
    folder: Path,
    form: Form,
    limits: Limits,
    begun: Callable[[int, int, str], None] = lambda _number, _total, _name: None,
) -> Iterator[Surveyed]:
    """Yield what wrong programs would get on each problem file below a folder, by path.

    Before each, `begun` is told its number (from 1), how many there are, and its name. Files that
    define no problem are left out. Raises UsageError where the folder has none, and GraderError
    where a guest can't be run for a reason of ours.
    """
    limits = replace(limits, wall=min(limits.wall, SECONDS))
    drafts = list(_problems(folder))
    if not drafts:
        raise UsageError(
            f"no problem files in {folder}", "expected Model and get_inputs in .py files"
        )
    for number, (name, draft) in enumerate(drafts, 1):
        begun(number, len(drafts), name)
        task = describe(draft, form, limits)
        if not task.workloads:
            yield Surveyed(name, note="; ".join(task.notes) or "it can't be described")
            continue
        try:
            yield Surveyed(name, audit(task, form, limits))
        except GraderError as error:
            yield Surveyed(name, note=str(error))


def _problems(folder: Path) -> Iterator[tuple[str, Task]]:
    """Yield name and draft of each file that defines a problem."""
    for path in sorted(folder.rglob("*.py")) if folder.is_dir() else [folder]:
        try:
            draft = load(path)
        except UsageError:
            continue
        yield str(path.relative_to(folder)) if folder.is_dir() else path.name, draft
