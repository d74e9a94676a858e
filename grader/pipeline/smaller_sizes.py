"""Smaller sizes for a program that takes too long: it may do the square of what the reference does.

Sizes are chosen by what the reference costs on a simulator, so an answer that sums a whole image for each of
its pixels does not get through. It is asked again where the reference does a small part of that work; what is
wrong there is wrong, unless it is a size that the answer writes into its code that makes it so.
"""

from __future__ import annotations

from dataclasses import replace

from grader.pipeline.written_numbers import written_numbers
from grader.pipeline.written_sizes import Settled, asked_anew, at_written_sizes, task_of
from grader.records import RIGHT_VALUES
from grader.tasks.scale import floor_at, sizes_of

SHARE = 1 / 64
"""Of the usual work of the reference."""
DECIDED = RIGHT_VALUES | {"incorrect", "crashed"}
"""Verdicts of smaller sizes that say something of the program."""


def at_smaller_sizes(usual: Settled) -> Settled | None:
    """Return how a program is judged at smaller sizes; None where they say nothing."""
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
    """Return what is left of a bad verdict once sizes that the answer writes have been asked about."""
    found = at_written_sizes(settled, SHARE)
    sizes = sizes_of(task_of(settled).reference, floor_at(SHARE))
    doubtful = bool(sizes & written_numbers(settled.program.submission))
    return None if (doubtful and not found.tried) or "timeout" in found.tried else found
