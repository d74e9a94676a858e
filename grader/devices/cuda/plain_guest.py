"""Failures in a guest, run once more in a plain guest before they are charged.

Ordinary guests fill memory, check inputs afterwards, and fetch results with our operators. A failure that the same
program does not show without any of that is the grader's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from grader.devices.base import RunResult
from grader.devices.guests import GuestDevice
from grader.errors import GraderError
from grader.judge import Group, References, compare, groups
from grader.records import Build, RunStatus, Submission, Task, Workload
from grader.source import parse

FAILED: Final[frozenset[RunStatus]] = frozenset({"raised", "crashed", "hung", "out_of_memory"})
"""Statuses that are charged to the program."""


@dataclass(frozen=True)
class PlainGuest:
    """Repeats runs of one program on one task without instrumentation."""

    device: GuestDevice
    submission: Submission
    build: Build
    task: Task
    references: References
    in_place: bool

    def charged_runs(self, found: Sequence[RunResult]) -> list[RunResult]:
        """Return the runs, in the order of the task's workloads; a failure counts if it shows again.

        If one of them does, the program is known to fail, and the others are left open. If none does, the failures are
        the grader's own.

        Raises:
            GraderError: a plain guest could not be started.

        """
        failed = {item.run.workload for item in found if item.run.status in FAILED}
        if not failed:
            return list(found)
        refuted: set[str] = set()
        shown = False
        for group in groups(self.task.judged):
            if not shown and failed & {w.name for w in group.workloads}:
                right = self._right_workloads(group, failed)
                refuted |= right
                shown = bool(failed & {w.name for w in group.workloads} - right)
        status: RunStatus = "not_run" if shown else "grader_error"
        return [
            _refute_run(item, status) if item.run.workload in refuted else item for item in found
        ]

    def _right_workloads(self, group: Group, failed: set[str]) -> set[str]:
        """Return the failed workloads of a group that are right in a plain guest."""
        wanted = self._again(group, failed)
        job = self.device.job(self.submission, self.build, group, wanted, self.references)
        job = replace(job, options={**job.options, "plain": True, "in_place": self.in_place})
        reply = self.device.converse(job, self.device.limits(self.device.options.run_seconds))
        if reply.status == "grader_error":
            raise GraderError(f"a plain run on {self.device.name} failed: {reply.reason}")
        again = self.device.results(wanted, reply, parse(self.submission.code))
        pairs = ((w, again[w.name]) for w in wanted if w.name in failed)
        return {workload.name for workload, result in pairs if self._is_right(workload, result)}

    def _again(self, group: Group, failed: set[str]) -> tuple[Workload, ...]:
        """Return the workloads to repeat: the failed ones, and the earlier ones where buffers are shared."""
        if not self.in_place:
            return tuple(w for w in group.workloads if w.name in failed)
        last = max(i for i, w in enumerate(group.workloads) if w.name in failed)
        return group.workloads[: last + 1]

    def _is_right(self, workload: Workload, result: RunResult) -> bool:
        if result.run.status != "ran":
            return False
        return compare(self.task, workload, self.references, result).equal


def _refute_run(item: RunResult, status: RunStatus) -> RunResult:
    how = item.run.status.replace("_", " ")
    reason = f"{how} only in the grader's own guest, and right in a plain one: {item.run.reason}"
    return replace(item, run=item.run.model_copy(update={"status": status, "reason": reason}))
