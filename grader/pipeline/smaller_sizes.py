"""Smaller sizes for a program that takes too long, e.g. with quadratically more work than the reference.

Sizes are chosen by what the reference costs on a simulator, so an answer that sums a whole image for each pixel does
not finish. It is evaluated again at sizes with a small part of the reference's work; a wrong result there counts,
unless a size hard-coded in the answer causes it.
"""

from __future__ import annotations

from dataclasses import replace

from grader.pipeline.written_numbers import written_numbers
from grader.pipeline.written_sizes import Settled, asked_anew, at_written_sizes, task_of
from grader.records import RIGHT_VALUES
from grader.tasks.scale import floor_at, sizes_of

SHARE = 1 / 64
"""Share of the reference's usual work."""
DECIDED = RIGHT_VALUES | {"incorrect", "crashed"}
"""Statuses at smaller sizes that count as a verdict on the program."""


def at_smaller_sizes(usual: Settled) -> Settled | None:
    """Return the program's judgement at smaller sizes; None where they don't decide."""
    task, examiner = task_of(usual), usual.examiner
    note = "the answer took too long at the usual sizes: it is judged at smaller ones"
    smaller = asked_anew(examiner.grading, task, note, SHARE)
    too_late = not usual.budget.enough("deciding")
    if smaller is None or too_late or smaller.workloads[0] == task.workloads[0]:
        return None
    there = examiner.on(smaller)
    program = there.examine(usual.program.submission)
    settled = replace(usual, examiner=there, program=program)
    if settled.program.status not in DECIDED:
        return None
    return settled if settled.program.status in RIGHT_VALUES else _wrong_there(settled)


def _wrong_there(settled: Settled) -> Settled | None:
    """Return a bad verdict after checking the sizes that the answer hard-codes."""
    found = at_written_sizes(settled, SHARE)
    sizes = sizes_of(task_of(settled).reference, floor_at(SHARE))
    doubtful = bool(sizes & written_numbers(settled.program.submission))
    return None if (doubtful and not found.tried) or "timeout" in found.tried else found
