"""A search's budget of evaluations, with their results and the fixes that failed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from grader.diagnose import Examiner, Program, try_fixes
from grader.records import Finding, Fix, Submission

Chosen = tuple[tuple[Finding, Fix], ...]
"""Fixes that are made together, each with the finding that asks for it."""


def only_hides(chosen: Chosen, changed: Program) -> bool:
    """Whether a program is no nearer to a right one, since a fix only hid the symptom."""
    return not changed.passes and any(fix.hides for _, fix in chosen)


def leads_around(before: Program, after: Program) -> bool:
    """Whether lines that use the tensors no longer run after a change, which skips the defect instead of fixing it."""
    used, run = (
        {count.line for run in one.evaluation.runs for count in run.counts if getattr(count, what)}
        for one, what in ((before, "accesses"), (after, "instructions"))
    )
    alike = len(before.submission.code.splitlines()) == len(after.submission.code.splitlines())
    return alike and bool(run) and not used <= run


@dataclass
class Trials:
    """Changed programs, each put through the same evaluation as a submission."""

    examiner: Examiner
    left: int
    used: int = 0
    small: int = 0
    """Number of small changes tried beside them."""
    searched: set[str] = field(default_factory=set)
    """Keys of the programs that small changes were tried on: another search would find the same."""
    paid: set[tuple[str, tuple[Fix, ...]]] = field(default_factory=set)
    """Programs, and what was changed of them together: another step of the search asks for the same for nothing."""
    in_vain: set[Fix] = field(default_factory=set)
    """Fixes that were made alone, and made nothing better."""

    def afford(self, program: Program, chosen: Chosen) -> bool:
        """Whether a program with these changes may be evaluated; uses one evaluation unless it was evaluated before."""
        asked = program.submission.key, tuple(fix for _, fix in chosen)
        if asked not in self.paid and not self._take():
            return False
        self.paid.add(asked)
        return True

    def _take(self) -> bool:
        self.used += self.left > 0
        self.left -= 1
        return self.left >= 0

    def make(self, program: Program, chosen: Chosen) -> Program | None:
        """Return the evaluated program with these changes; None where they can't be combined."""
        changed = try_fixes(program, chosen, self.examiner)
        if changed is not None and len(chosen) == 1 and not program.passes:
            if changed.rank <= program.rank or only_hides(chosen, changed):
                self.in_vain.add(chosen[0][1])
        return changed

    def make_each(self, program: Program, choices: Iterable[Chosen]) -> Iterator[Program]:
        """Yield the program with each choice of changes, as long as there are evaluations left."""
        for chosen in choices:
            if not self.afford(program, chosen):
                return
            changed = self.make(program, chosen)
            if changed is not None:
                yield changed

    def examine(self, submission: Submission) -> Program | None:
        """Return a program of another text, evaluated; None where no evaluation is left."""
        return self.examiner.examine(submission) if self._take() else None
