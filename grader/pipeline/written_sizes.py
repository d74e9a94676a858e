"""Sizes that an answer has written into its code: it is asked about them before it is called wrong.

A task is judged at small sizes, and a kernel with `#define WIDTH 1024` is right at the task's own only. So
where a result is wrong, the sizes of the task that the answer names itself stay as they are, and the others
become small. What is right then does what was asked, though not in general.

The same holds for a size that the answer compares with a number, `if (n > 1024)`: small sizes may take a way
that the task's own never takes. Which kernels it launches at full size tells whether they did.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterator

from grader.pipeline.context import GradingContext, described, known
from grader.records import DECIDING, RIGHT_VALUES, Evaluation, Submission, Task
from grader.source import parse
from grader.tasks.scale import floor_at, sizes_of

UNSETTLED = frozenset({"incorrect", "crashed", "timeout"})
"""Verdicts that other sizes might change."""
_NUMBER = re.compile(r"(?<![\w.])\d{2,9}(?![\w.])")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_LIMIT = re.compile(r"(?<![<>])[<>]=?\s*(\d{2,9})(?![\w.])|(?<![\w.])(\d{2,9})\s*[<>]=?(?![<>])")

Judge = Callable[[Task], Evaluation]


def at_written_sizes(
    grading: GradingContext,
    task: Task,
    submission: Submission,
    evaluation: Evaluation,
    judged: Judge,
    share: float = 1.0,
) -> tuple[Task, Evaluation]:
    """Return the task with the sizes that the answer writes, where it is right there; else what was given.

    The reference does at most `share` of the usual work there.
    """
    if evaluation.verdict.status not in UNSETTLED or task.source == "builtin":
        return task, evaluation
    sizes = sizes_of(task.reference, floor_at(share))
    writes = "the answer writes sizes of the task into its code"
    for kept in _choices(sizes & written(submission)):
        asked = asked_anew(grading, task, f"{writes}; {_kept(kept)}", share, kept)
        if asked is not None:
            again = judged(asked)
            if again.verdict.status in RIGHT_VALUES:
                return asked, again
            break
    beyond = {size for size in sizes if any(limit < size for limit in limits(submission))}
    way = _way_at_full_size(grading, task, submission, evaluation) if beyond else None
    right = {item.workload for item in evaluation.comparisons if item.equal}
    if way is None or way in _ways(task, evaluation, right):
        return task, evaluation
    turns = "the answer takes another way beyond a size that it compares with"
    for size in sorted(beyond, reverse=True):
        kept = frozenset({size})
        asked = asked_anew(grading, task, f"{turns}; {_kept(kept)}", share, kept)
        if asked is not None:
            again = judged(asked)
            if again.verdict.status in RIGHT_VALUES and set(_ways(asked, again)) == {way}:
                return asked, again
    return task, evaluation


def asked_anew(
    grading: GradingContext, task: Task, why: str, share: float, kept: frozenset[int] = frozenset()
) -> Task | None:
    """Return the task at other sizes, with a note of it; None where there are none that can be run.

    The reference does at most `share` of the usual work there; `kept` are sizes that stay as they are.
    """
    draft = task.model_copy(update={"workloads": ()})
    found = described(grading, draft, kept, share)
    notes = (*found.notes, why)
    return found.model_copy(update={"notes": notes}) if found.workloads else None


def _kept(sizes: frozenset[int]) -> str:
    return f"kept as they are: {', '.join(map(str, sorted(sizes)))}"


def _way_at_full_size(
    grading: GradingContext, task: Task, submission: Submission, evaluation: Evaluation
) -> frozenset[str] | None:
    """Return the kernels that the answer launches at the task's full size; None where that can't be seen."""
    if grading.device is None or evaluation.build is None or evaluation.build.status != "built":
        return None
    seed = known(grading, task).guest_seed
    return grading.device.launched_at_full_size(submission, evaluation.build, task, seed)


def _ways(
    task: Task, evaluation: Evaluation, but: Collection[str] = ()
) -> Iterator[frozenset[str]]:
    """Yield the kernels of each run that decides and was begun, but those of some workloads."""
    deciding = {workload.name for workload in task.workloads if workload.role in DECIDING}
    for run in evaluation.runs:
        if run.workload in deciding.difference(but) and run.status != "not_run":
            yield frozenset(launch.kernel for launch in run.launches)


def written(submission: Submission) -> frozenset[int]:
    """Return the whole numbers in the CUDA and C++ code of an answer."""
    texts = (_COMMENT.sub("", unit.text) for unit in parse(submission.code).units)
    return frozenset(int(number) for text in texts for number in _NUMBER.findall(text))


def limits(submission: Submission) -> frozenset[int]:
    """Return the whole numbers that host code and Python compare something with: they may choose what is launched."""
    source = parse(submission.code)
    functions = (f for unit in source.units for f in unit.functions if f.runs == "host")
    host = (_COMMENT.sub("", function.text) for function in functions)
    python = (ast.unparse(node) for node in source.walk(ast.Compare))  # where `//` divides
    found = (match for text in (*host, *python) for match in _LIMIT.finditer(text))
    return frozenset(int(match[1] or match[2]) for match in found)


def _choices(sizes: frozenset[int]) -> Iterator[frozenset[int]]:
    """Yield all of them and, should they be too much together, the largest one and the smallest one."""
    if sizes:
        yield from dict.fromkeys((sizes, frozenset({max(sizes)}), frozenset({min(sizes)})))
