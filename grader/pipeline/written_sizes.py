"""Sizes hard-coded in an answer, at which it is evaluated before it is called wrong.

A task is judged at small sizes, and a kernel with `#define WIDTH 1024` is right at the task's own only. So
where a result is wrong, the sizes of the task that the answer names itself stay as they are, and the others
become small. What is right then does what was asked, though not in general.

The same holds for a tile, `BLOCK = 1024`: where the task's own sizes fill it, an answer that masks nothing is right
there, and wrong at a size that is no multiple of it. It is asked again with the sizes that fill its tiles.

The same holds for a size that the answer compares with a number, `if (n > 1024)`: small sizes may take a way
that the task's own never takes. Which kernels it launches at full size tells whether they did.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from grader.devices import DryRunner
from grader.diagnose import Program
from grader.pipeline.budget import Budget
from grader.pipeline.clock import Clock
from grader.pipeline.context import GradingContext, describe_draft, known_references
from grader.pipeline.examiner import Examiner
from grader.pipeline.trial import Seen, Trial
from grader.pipeline.written_numbers import TILE, limits, tiles, written_numbers
from grader.records import DECIDING, RIGHT_VALUES, Evaluation, Task
from grader.tasks.scale import floor_at, sizes_of

UNSETTLED = frozenset({"incorrect", "crashed", "timeout"})
"""Statuses that other sizes might change."""


@dataclass(frozen=True)
class Settled:
    """The sizes of its task at which a program is judged, and the program's result there."""

    examiner: Examiner
    program: Program
    budget: Budget
    tried: tuple[str, ...] = ()
    """Statuses that count at the sizes hard-coded in the answer."""


def task_of(settled: Settled) -> Task:
    """Return the task of a program with a known task."""
    assert settled.examiner.task is not None
    return settled.examiner.task


def at_written_sizes(usual: Settled, share: float = 1.0) -> Settled:
    """Return the judgement at a program's hard-coded sizes, where it is right there; else the given one.

    The reference does at most `share` of the usual work there.
    """
    if usual.program.status not in UNSETTLED:
        return usual
    if share == 1.0 and _writes_any(usual) and _fails_at_full_size(usual):
        return usual
    for again in (_with_written_sizes, _with_whole_tiles, _with_sizes_beyond_limits):
        usual = again(usual, share)
        if usual.program.status in RIGHT_VALUES:
            break
    return usual


def _writes_any(usual: Settled) -> bool:
    """Whether the answer writes a number by which other sizes might be chosen."""
    submission, sizes = usual.program.submission, _sizes(usual, 1.0)
    beyond = any(limit < size for limit in limits(submission) for size in sizes)
    return beyond or bool(sizes & written_numbers(submission) or _whole_tiles(usual, 1.0))


def _fails_at_full_size(usual: Settled) -> bool:
    """Whether the program is wrong at the size that the task names: no other choice of sizes is asked then, as it would be looked at there too.

    A look takes a second or less, and describing a task at other sizes ten.
    """
    grading, program = usual.examiner.grading, usual.program
    build, device = program.evaluation.build, grading.device
    if program.status == "timeout" or device is None or build is None or build.status != "built":
        return False
    task, evaluation = task_of(usual), program.evaluation
    trial = Trial(grading, device, program.submission, build, task, Clock(), usual.budget)
    seen = Seen(evaluation.verdict, evaluation.runs, evaluation.comparisons, evaluation.probes)
    return trial.fails_at_full_size(seen)


def _with_written_sizes(usual: Settled, share: float) -> Settled:
    """Judge with the answer's hard-coded sizes kept."""
    sizes = _sizes(usual, share) & written_numbers(usual.program.submission)
    return _with_kept(usual, sizes, "the answer writes sizes of the task into its code", share)


def _with_whole_tiles(usual: Settled, share: float) -> Settled:
    """Keep the sizes that fill tiles that the answer writes."""
    why = "the answer is right where sizes are multiples of its tiles, as the task's own are"
    return _with_kept(usual, _whole_tiles(usual, share), why, share)


def _whole_tiles(usual: Settled, share: float) -> frozenset[int]:
    """Return the sizes that fill tiles that the answer writes, where it was right at one of the usual sizes and not at another."""
    counted = [item for item in usual.program.evaluation.comparisons if item.role == "nominal"]
    if len({item.equal for item in counted}) < 2:
        return frozenset()
    widths = tiles(usual.program.submission)
    lengths = sizes_of(task_of(usual).reference, floor_at(share), batches=False)
    return frozenset(size for size in lengths if any(_fills(size, width) for width in widths))


def _fills(size: int, tile: int) -> bool:
    """Whether a size is a multiple of a tile, or the tile of the size."""
    return size >= TILE and (size % tile == 0 or tile % size == 0)


def _with_kept(usual: Settled, sizes: frozenset[int], why: str, share: float) -> Settled:
    """Judge with some sizes kept; the largest choice of them that can be run decides."""
    for kept in _choices(sizes):
        if not usual.budget.enough("deciding"):
            return usual
        again = _at(usual, kept, why, share)
        if again is not None:
            return again if again.program.status in RIGHT_VALUES else _choose_better(usual, again)
    return usual


def _with_sizes_beyond_limits(usual: Settled, share: float) -> Settled:
    """Judge with a size above one that the answer compares with, if it then launches the kernels of the full size."""
    submission, task = usual.program.submission, task_of(usual)
    beyond = {
        size for size in _sizes(usual, share) if any(limit < size for limit in limits(submission))
    }
    way = _way_at_full_size(usual) if beyond else None
    evaluation = usual.program.evaluation
    right = {item.workload for item in evaluation.comparisons if item.equal}
    if way is None or way in _ways(task, evaluation, right):
        return usual
    for size in sorted(beyond, reverse=True):
        if not usual.budget.enough("deciding"):
            return usual
        why = "the answer takes another code path above a size that it compares with"
        again = _at(usual, frozenset({size}), why, share)
        if again is not None:
            if again.program.status in RIGHT_VALUES and _only_way(again) == {way}:
                return again
            usual = _choose_better(usual, again)
    return usual


def _at(usual: Settled, kept: frozenset[int], why: str, share: float) -> Settled | None:
    """Return the program examined with these sizes kept; None where that can't be run."""
    why = f"{why}; kept as they are: {', '.join(map(str, sorted(kept)))}"
    task = asked_anew(usual.examiner.grading, task_of(usual), why, share, kept)
    if task is None:
        return None
    there = usual.examiner.on(task)
    program = there.examine(usual.program.submission)
    tried = (*usual.tried, program.status)
    return replace(usual, examiner=there, program=program, tried=tried)


def _choose_better(usual: Settled, again: Settled) -> Settled:
    return replace(usual, tried=again.tried)


def _sizes(settled: Settled, share: float) -> frozenset[int]:
    return frozenset(sizes_of(task_of(settled).reference, floor_at(share)))


def _only_way(settled: Settled) -> set[frozenset[str]]:
    return {*_ways(task_of(settled), settled.program.evaluation)}


def asked_anew(
    grading: GradingContext, task: Task, why: str, share: float, kept: frozenset[int] = frozenset()
) -> Task | None:
    """Return the task at other sizes, with a note; None where none can be run.

    The reference does at most `share` of the usual work there; `kept` are sizes that stay unchanged.
    """
    draft = task.model_copy(update={"workloads": ()})
    found = describe_draft(grading, draft, kept, share)
    notes = (*found.notes, why)
    return found.model_copy(update={"notes": notes}) if found.workloads else None


def _way_at_full_size(settled: Settled) -> frozenset[str] | None:
    """Return the kernels that the answer launches at the task's full size; None where unknown."""
    grading, task = settled.examiner.grading, task_of(settled)
    build = settled.program.evaluation.build
    device = grading.device
    if device is None or build is None or build.status != "built":
        return None
    if not isinstance(device, DryRunner):
        return None
    seed = known_references(grading, task).guest_seed
    return device.launched_at_full_size(settled.program.submission, build, task, seed)


def _ways(
    task: Task, evaluation: Evaluation, but: Collection[str] = ()
) -> Iterator[frozenset[str]]:
    """Yield the kernels of each deciding run that began, except for some workloads."""
    deciding = {workload.name for workload in task.workloads if workload.role in DECIDING}
    for run in evaluation.runs:
        if run.workload in deciding.difference(but) and run.status != "not_run":
            yield frozenset(launch.kernel for launch in run.launches)


def _choices(sizes: frozenset[int]) -> Iterator[frozenset[int]]:
    """Yield all sizes together and, in case they are too much, the largest and the smallest one alone."""
    if sizes:
        yield from dict.fromkeys((sizes, frozenset({max(sizes)}), frozenset({min(sizes)})))
