"""Workloads at which wrong programs fail: sizes are audited before they decide.

A program with a mistaken part of the task passes where a smaller size makes that part trivial. So the programs that
pass at the first choice of sizes are tried at others, and the first sizes that distinguish them from a right program
decide instead. A program that passes at all sizes is right: a sum is the same in any order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import get_args

from grader.execution.audit import AuditRow, Own, audit, undetected_programs
from grader.judge.candidates import COSTLY, Described, Workloads
from grader.judge.facts import Facts
from grader.judge.sizes import WORTH
from grader.records import Task, Workload
from grader.sandbox import Form, Limits

TRIES = 3
"""Choices of sizes that are tried beside the first."""
ROUNDED = frozenset({"half precision", "a constant multiple"})
"""Programs that differ from a right one only by tolerance, at any size."""
CHEAP = (*get_args(Own), "the answer to other inputs", "a skipped part")
"""Kinds that need two runs of the reference."""


@dataclass(frozen=True)
class Audited:
    """Deciding workloads, and their audit."""

    workloads: tuple[Workload, ...]
    length: int = 1
    note: str = ""
    undetected: tuple[str, ...] = ()
    """Wrong programs that pass on all of them."""
    rows: tuple[AuditRow, ...] = ()
    """Result of each wrong program at the chosen sizes; empty without an audit."""
    unmoved: frozenset[str] = frozenset()
    """Programs that pass at every choice of sizes: the task's result does not depend on the part that they change."""
    rare: tuple[Workload, ...] = ()
    """Workloads of other values, any of which may be added."""
    choices: int = 0
    """Number of choices of sizes that were compared."""

    @property
    def weak(self) -> tuple[str, ...]:
        """Return why verdicts are still weak."""
        return tuple(f"{program} would pass" for program in self.undetected)


@dataclass(frozen=True)
class _Tried:
    """One choice of sizes with the wrong programs that pass there."""

    made: Workloads
    rows: tuple[AuditRow, ...]

    @property
    def passing(self) -> frozenset[str]:
        """Return the programs that pass on one of its nominal workloads, or may pass because they were not computed there."""
        names = {workload.name for workload in self.made.nominal}
        found = (row for row in self.rows if row.kind not in ROUNDED)
        return frozenset(r.program for r in found if names & {*r.passes, *r.unknown})

    @property
    def failing(self) -> frozenset[str]:
        """Return the wrong programs that failed on each applicable nominal workload."""
        return frozenset(row.program for row in self.rows if row.fails) - self.passing


def find_strong_sizes(known: Described, reference: str, form: Form, limits: Limits) -> Audited:
    """Return the workloads of a problem at sizes where wrong programs fail, if there are such sizes.

    Raises GraderError where the audit fails for a reason of ours.
    """
    first = known.workloads()
    if first is None:
        return Audited((), note=known.missing)
    asking = _Asking(_draft(reference, first), form, limits)
    if first.chosen.huge:
        return asking.add_workloads(asking.cheaply(first))
    if not any(workload.role == "general" for workload in first.all):
        return Audited(first.all, first.length)
    tried, choices = [asking.all(first)], 1
    for other in _other_choices(known, first) if tried[0].passing else ():
        choices += 1
        if asking.caught(other, tried[0].passing):
            tried.append(asking.all(other))
            if not tried[-1].passing & _mistakes(tried):
                break
    return asking.add_workloads(_settle_choice(tried, choices))


@dataclass(frozen=True)
class _Asking:
    task: Task
    form: Form
    limits: Limits

    def all(self, made: Workloads) -> _Tried:
        """Return every wrong program's result there."""
        return _Tried(made, audit(self._of(made), self.form, self.limits))

    def cheaply(self, made: Workloads) -> Audited:
        """Return the results of the cheap wrong programs, where each run takes long: the others would take minutes."""
        rows = audit(self._of(made), self.form, self.limits, programs=CHEAP)
        weak = undetected_programs(rows)
        return Audited(made.all, made.length, COSTLY, weak, rows=rows, rare=made.rare)

    def caught(self, made: Workloads, programs: frozenset[str]) -> bool:
        """Whether one of the programs fails there."""
        rows = audit(
            self._of(made), self.form, self.limits, workloads=made.nominal, programs=programs
        )
        missed = {row.program for row in rows if row.passes or row.unknown}
        return bool(programs - missed)

    def add_workloads(self, found: Audited) -> Audited:
        """Return the choice with added workloads of other values that catch programs which would pass otherwise.

        The result of an untrained deep network hardly depends on small inputs, and a product of many numbers is 0.
        """
        task = self.task.model_copy(update={"reduction_length": str(found.length)})
        for workload in found.rare:
            weak = tuple(program for program in found.undetected if program not in ROUNDED)
            if not weak:
                break
            rows = audit(task, self.form, self.limits, workloads=(workload,), programs=weak)
            caught = {row.program for row in rows if row.fails}
            if caught:
                left = tuple(program for program in found.undetected if program not in caught)
                workloads = (*found.workloads, workload)
                found = replace(found, workloads=workloads, undetected=left)
        return found

    def _of(self, made: Workloads) -> Task:
        return self.task.model_copy(
            update={"workloads": made.all, "reduction_length": str(made.length)}
        )


def _draft(reference: str, made: Workloads) -> Task:
    return Task(
        name="problem",
        title="",
        source="embedded",
        reference=reference,
        workloads=made.all,
        reduction_length=str(made.length),
    )


def _other_choices(known: Described, first: Workloads) -> Iterator[Workloads]:
    """Yield other choices of sizes of similar cost, the best first."""
    most = WORTH * max(1.0, _cost(known, first.chosen.nominal[0]))
    left = replace(known, sizes=tuple(size for size in known.sizes if size.cost <= most))
    last = first
    for _ in range(TRIES):
        left = left.without(last.chosen.nominal[0])
        made = left.workloads()
        if made is None or made.chosen.huge:
            return
        yield made
        last = made


def _cost(known: Described, fact: Facts) -> float:
    return next((size.cost for size in known.sizes if size.fact is fact), 1.0)


def _mistakes(tried: Sequence[_Tried]) -> frozenset[str]:
    """Return the programs that fail at some choice of sizes, so that they are wrong in general."""
    passing = frozenset[str]().union(*(item.passing for item in tried))
    left = frozenset.intersection(*(item.passing for item in tried))
    return frozenset[str]().union(*(item.failing for item in tried)) | (passing - left)


def _settle_choice(tried: Sequence[_Tried], choices: int) -> Audited:
    """Return the choice at which the fewest wrong programs pass, with sizes added that catch more of them.

    With only one choice, programs that pass there can't be distinguished from right ones.
    """
    mistakes = _mistakes(tried)
    best = min(tried, key=lambda item: len(item.passing & mistakes))
    workloads, open_ = list(best.made.all), best.passing & mistakes
    for item in tried:
        if open_ - item.passing:
            names = {workload.name for workload in workloads}
            more = [w for w in item.made.nominal if w.name not in names]
            workloads += more
            open_ &= item.passing
    same = best.passing - mistakes
    alone = sorted(same) if choices == 1 else ()
    weak = dict.fromkeys((*undetected_programs(best.rows), *sorted(open_), *alone))
    return Audited(
        tuple(workloads),
        best.made.length,
        undetected=tuple(weak),
        rows=best.rows,
        rare=best.made.rare,
        unmoved=same if choices > 1 else frozenset(),
        choices=choices,
    )
