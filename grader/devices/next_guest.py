"""The workloads for a new guest after a run ended the process."""

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
    """Return the workloads after the one that ended the guest, except those that would take as long.

    `found` are the results so far, `lost` tests whether a process is unusable after one.
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
