"""Sizes that an answer has written into its code: it is asked about them before it is called wrong.

A task is judged at small sizes, and a kernel with `#define WIDTH 1024` is right at the task's own only. So
where a result is wrong, the sizes of the task that the answer names itself stay as they are, and the others
become small. What is right then does what was asked, though not in general.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from grader import judge
from grader.pipeline.workshop import Workshop
from grader.records import Evaluation, Submission, Task
from grader.source import parse
from grader.tasks.scale import sizes_of

SETTLED = frozenset({"incorrect", "crashed", "timeout"})
"""Verdicts that other sizes might change."""
_NUMBER = re.compile(r"(?<![\w.])\d{2,9}(?![\w.])")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)

Judge = Callable[[Task], Evaluation]


def at_written_sizes(
    workshop: Workshop, task: Task, submission: Submission, evaluation: Evaluation, judged: Judge
) -> tuple[Task, Evaluation]:
    """Return the task with the sizes that the answer writes, where it is right there; else what was given."""
    if evaluation.verdict.status not in SETTLED or task.source == "builtin":
        return task, evaluation
    for kept in _choices(sizes_of(task.reference) & written(submission)):
        draft = task.model_copy(update={"workloads": ()})
        found = judge.describe(draft, workshop.form, workshop.limits, kept)
        if not found.workloads:
            continue
        listed = ", ".join(map(str, sorted(kept)))
        said = f"the answer writes sizes of the task into its code, which were kept: {listed}"
        asked = found.model_copy(update={"notes": (*found.notes, said)})
        again = judged(asked)
        return (asked, again) if again.verdict.status == "correct" else (task, evaluation)
    return task, evaluation


def written(submission: Submission) -> frozenset[int]:
    """Return the whole numbers in the CUDA and C++ code of an answer."""
    texts = (_COMMENT.sub("", unit.text) for unit in parse(submission.code).units)
    return frozenset(int(number) for text in texts for number in _NUMBER.findall(text))


def _choices(sizes: frozenset[int]) -> Iterator[frozenset[int]]:
    """Yield all of them and, should they be too much together, the largest one and the smallest one."""
    if sizes:
        yield from dict.fromkeys((sizes, frozenset({max(sizes)}), frozenset({min(sizes)})))
