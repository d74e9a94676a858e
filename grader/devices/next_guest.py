"""Which workloads a new guest could still answer, where a run took the process with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from grader.devices.base import RunResult
from grader.judge.tolerance import element_count
from grader.records import Workload
from grader.sandbox import GuestReply, GuestResult


def still_open(
    workloads: Sequence[Workload],
    reply: GuestReply,
    found: Mapping[str, RunResult],
    lost: Callable[[GuestResult], bool],
) -> Sequence[Workload]:
    """Return the workloads after the one that ended the guest; none that would take as long.

    `found` is what the guest's answers came to, `lost` says whether a process can run nothing more after one.
    """
    if reply.stage != "forward" or reply.status == "timeout":
        return ()
    answered = {result.name for result in reply.results}
    for position, workload in enumerate(workloads):
        here, later = found[workload.name], workloads[position + 1 :]
        if here.run.status == "timeout":
            size = element_count(workload)
            return [other for other in later if element_count(other) < size]
        if workload.name not in answered or here.result.status == "crashed" or lost(here.result):
            return later
    return ()
