"""Results of runs and comparisons for each kind of workload."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from grader.judge.side_effects import COMPARED, FIRST_ROWS
from grader.records import (
    DECIDING,
    Comparison,
    Evidence,
    FailsWith,
    Run,
    RunStatus,
    SeenAt,
    Status,
    Task,
    TensorSpec,
    Workload,
)

FATAL: Mapping[RunStatus, Status] = {
    "grader_error": "grader_error",
    "raised": "crashed",
    "crashed": "crashed",
    "out_of_memory": "crashed",
    "hung": "hung",
}
"""A run with one of these statuses decides the verdict, in this order, whatever other runs gave."""
OPEN: Mapping[RunStatus, Status] = {"timeout": "timeout", "not_run": "not_run"}
"""A run with one of these statuses decides it only where no other run shows a wrong result."""


def _size(workload: Workload) -> tuple[object, ...]:
    shapes = (i.shape if isinstance(i, TensorSpec) else i for i in workload.inputs)
    return (*shapes, workload.init)


class Seen:
    """Runs and comparisons by workload, with the workloads' roles."""

    def __init__(
        self,
        task: Task | None,
        runs: Sequence[Run],
        comparisons: Sequence[Comparison],
        checked: Sequence[Run] = (),
        *,
        own_weights: bool,
        lazy: bool = False,
    ) -> None:
        self.weak = task.weak if task else ()
        self.sized = task is not None and task.full is not None
        self.named = task is not None and task.source != "builtin"
        self.workloads = {w.name: w for w in task.workloads} if task else {}
        self.runs = {run.workload: run for run in runs}
        self.checked = tuple(checked)
        """Runs of these workloads on the checker."""
        self.examined = (*self.runs.values(), *self.checked)
        self.comparisons = {item.workload: item for item in comparisons}
        self.own_weights = own_weights
        """Whether it is wrong only with the weights that it draws itself."""
        self.so_far = "It loads" if lazy else "It builds"
        """Beginning of a sentence, for what is known before the runs: a program may compile only when called."""
        self.roles = {name: workload.role for name, workload in self.workloads.items()}

    def of(self, roles: Iterable[str]) -> tuple[Workload, ...]:
        """Return the workloads of these roles that were planned and that count."""
        wanted = frozenset(roles)
        return tuple(w for w in self.workloads.values() if w.role in wanted and self._counts(w))

    @property
    def deciding(self) -> frozenset[str]:
        """The roles at which a program must end well: with the full size, where the task itself names it.

        A built-in task's full size is KernelBench's, which may not be the size in this sample's prompt.
        """
        return DECIDING | {"full"} if self.named else DECIDING

    def _counts(self, workload: Workload) -> bool:
        if workload.name not in self.runs or workload.reference_may_be_nonfinite:
            return False
        found = self.comparisons.get(workload.name)
        return found is None or found.decides

    def run_that_ended(self, roles: Iterable[str], status: RunStatus) -> Run | None:
        """Return the first run of these roles with this status."""
        found = (self.runs[w.name] for w in self.of(roles))
        return next((run for run in found if run.status == status), None)

    def failures(self, roles: Iterable[str]) -> tuple[Comparison, ...]:
        """Return the comparisons of these roles that failed."""
        found = (self.comparisons.get(w.name) for w in self.of(roles))
        return tuple(item for item in found if item is not None and not item.equal)

    def is_rounded_only(self) -> bool:
        """Whether every workload gave a result, and every wrong one, at any size, is right to half precision."""
        wrong = [item for item in self.comparisons.values() if item.decides and not item.equal]
        ended = all(run.status == "ran" for run in self.runs.values())
        return ended and bool(wrong) and all(item.half_precision for item in wrong)

    def is_right(self) -> bool:
        """Whether every deciding workload gave a result, and none was wrong."""
        compared = (self.comparisons.get(workload.name) for workload in self.of(DECIDING))
        found = [item is not None and item.equal for item in compared]
        return bool(found) and all(found)

    def rounding_switches(self) -> tuple[str, ...]:
        """Return torch's reduced-precision switches that were on in a run whose results lost digits by them."""
        known = (name for run in self.runs.values() if run.narrowed for name in run.switches)
        return tuple(dict.fromkeys(known))

    def wrong_at_full_size(self) -> Comparison | None:
        """Return the wrong result at the task's own full size, by KernelBench's tolerance as well.

        Only torch's float32 result is known there. Built-in tasks are included: a program written for smaller sizes may
        end there without fault, but may not return wrong values.
        """
        found = self.failures({"full"})
        return next((item for item in found if not item.kernelbench_equal), None)

    def at(self, probes: Sequence[Evidence]) -> SeenAt | None:
        """Return the largest size at which values were compared; None where none were."""
        if not self.comparisons:
            return None
        full = next((w for w in self.workloads.values() if w.role == "full"), None)
        compared = (self.workloads[name] for name in self.comparisons if name in self.workloads)
        if any(w.role == "full" or (full and _size(w) == _size(full)) for w in compared):
            return "full"
        codes = {item.code for item in probes}
        if FIRST_ROWS in codes:
            return "first rows"
        return "sampled blocks" if COMPARED in codes else "reduced sizes"

    def general(self) -> bool | None:
        """Return whether it is right at the other sizes; None where that was not tested."""
        others = {"general", "full"}
        ended = {status for status in (*FATAL, *OPEN) if self.run_that_ended(others, status)}
        unknown = {"grader_error", *OPEN}
        if self.failures(others) or ended - unknown:
            return False
        if not self.of({"general"}) or ended:
            return None
        return True

    def fails_with(self) -> FailsWith | None:
        """Return what it is wrong with where it is right with all that decides; None where nothing was seen."""
        wrong = {item.workload for item in self.failures({"general"})}
        ended = FATAL.keys() - {"grader_error"}
        others = self.of({"general"})
        failed = [w for w in others if w.name in wrong or self.runs[w.name].status in ended]
        sizes = [_size(workload) for workload in self.of(DECIDING)]
        as_named = [workload for workload in failed if _size(workload) in sizes]
        if not as_named:
            return "other sizes" if failed else None
        return "other weights" if all(w.weights == "drawn" for w in as_named) else "other values"

    def kernelbench(self) -> bool | None:
        """Return whether the nominal workloads pass by KernelBench's tolerance."""
        nominal = [self.comparisons.get(w.name) for w in self.of({"nominal"})]
        known = [item.kernelbench_equal for item in nominal if item is not None]
        return all(known) if known and None not in known else None
