"""Examines a program at the task's usual sizes, and at others where those can't decide."""

from __future__ import annotations

from dataclasses import replace

from grader.pipeline.budget import Budget
from grader.pipeline.examiner import Examiner
from grader.pipeline.smaller_sizes import at_smaller_sizes
from grader.pipeline.written_sizes import Settled, at_written_sizes
from grader.records import Submission


def examine_at_sizes_that_decide(examiner: Examiner, submission: Submission) -> Settled:
    """Evaluate and inspect a program, and choose the sizes of its task at which it is judged."""
    grading = examiner.grading
    budget = Budget.of(grading.options, grading.device)
    bounded = replace(examiner, budget=budget)
    usual = Settled(bounded, bounded.examine(submission), budget)
    if examiner.task is None or examiner.task.source in {"builtin", "own-inputs"}:
        return usual
    smaller = at_smaller_sizes(usual) if usual.program.status == "timeout" else None
    return smaller or at_written_sizes(usual)
