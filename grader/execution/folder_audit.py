"""The audit of each problem in a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from grader.errors import GraderError, UsageError
from grader.execution.audit import TRIVIAL, audit, undetected_programs
from grader.execution.describe import examine_reference
from grader.execution.strong_sizes import Audited
from grader.records import Task
from grader.sandbox import Form, Limits
from grader.tasks import builtin_tasks
from grader.tasks.precision import forms
from grader.tasks.problem import load

SECONDS = 60.0
"""Time limit of each guest for a problem; where it isn't enough, the note says so."""
NOT_ASKED = "too large to be audited: each run of the reference takes long"


@dataclass(frozen=True)
class AuditedProblem:
    """One problem file."""

    name: str
    found: Audited
    note: str = ""
    """Why it could not be audited."""

    @property
    def weak(self) -> tuple[str, ...]:
        """Return the reasons that its verdicts are weak."""
        return self.found.weak

    @property
    def sizes(self) -> tuple[str, ...]:
        """Return its nominal sizes."""
        return tuple(w.name for w in self.found.workloads if w.role == "nominal")

    @property
    def passing(self) -> tuple[str, ...]:
        """Return the wrong programs that pass on a deciding workload, of any values, and fail on another."""
        rows = (row for row in self.found.rows if row.passes and row.fails)
        return tuple(row.program for row in rows if row.program not in self.found.unmoved)

    @property
    def unknown(self) -> tuple[str, ...]:
        """Return the wrong programs that were not computed on a deciding workload, for lack of time."""
        return tuple(row.program for row in self.found.rows if row.unknown)

    def cell(self, kind: str) -> str:
        """Return the result of wrong programs of a kind.

        `caught`, `passes` (ours), `no effect` (no size shows a change), `caught, passes KernelBench's` (its tolerance
        at nominal sizes), or `-` where it doesn't apply to this problem.
        """
        rows = [r for r in self.found.rows if r.kind == kind and (r.passes or r.fails)]
        left = [row for row in rows if row.program not in self.found.unmoved]
        if not left or any(not row.caught for row in left):
            return "passes" if left or (rows and kind in TRIVIAL) else "no effect" if rows else "-"
        return "caught, passes KernelBench's" if any(r.kernelbench for r in left) else "caught"


def audit_folder(
    folder: Path,
    form: Form,
    limits: Limits,
    begun: Callable[[int, int, str], None] = lambda _number, _total, _name: None,
) -> Iterator[AuditedProblem]:
    """Yield the audit of each problem file below a folder, by path.

    `begun` is called before each with its number (from 1), the total, and its name. Files that define no problem are
    left out. Raises UsageError where the folder has no problem, and GraderError where the grader can't run a guest.
    """
    limits = replace(limits, wall=min(limits.wall, SECONDS))
    drafts = list(_problems(folder))
    if not drafts:
        raise UsageError(
            f"no problem files in {folder}", "expected Model and get_inputs in .py files"
        )
    for number, (name, draft) in enumerate(drafts, 1):
        begun(number, len(drafts), name)
        try:
            found = examine_reference(draft.reference, form, limits)
        except GraderError as error:
            yield AuditedProblem(name, Audited(()), str(error))
            continue
        note = found.note or ("" if found.rows else NOT_ASKED)
        yield AuditedProblem(name, found, note)


def audit_builtin(
    pattern: str,
    form: Form,
    limits: Limits,
    begun: Callable[[int, int, str], None] = lambda _number, _total, _name: None,
) -> Iterator[AuditedProblem]:
    """Yield the audit of each built-in task whose name matches, including its forms in half precision.

    Raises UsageError where there is none, and GraderError as `audit_folder` does.
    """
    every = (one for task in builtin_tasks().values() for one in forms(task))
    chosen = [task for task in every if fnmatchcase(task.name, pattern)]
    if not chosen:
        raise UsageError(
            f"{pattern} does not exist", "name a problem file, a folder of them, or a built-in task"
        )
    for number, task in enumerate(chosen, 1):
        begun(number, len(chosen), task.name)
        rows = audit(task, form, replace(limits, wall=min(limits.wall, SECONDS)))
        yield AuditedProblem(
            task.name, Audited((), undetected=undetected_programs(rows), rows=rows)
        )


def _problems(folder: Path) -> Iterator[tuple[str, Task]]:
    """Yield name and draft of each file that defines a problem."""
    for path in sorted(folder.rglob("*.py")) if folder.is_dir() else [folder]:
        try:
            draft = load(path)
        except UsageError:
            continue
        yield str(path.relative_to(folder)) if folder.is_dir() else path.name, draft
