"""Which workloads a new guest could still answer, where a run took the process with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

from grader.devices.base import RunResult
from grader.records import TensorSpec, Workload
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
            return [other for other in later if elements(other) < elements(workload)]
        if workload.name not in answered or here.result.status == "crashed" or lost(here.result):
            return later
    return ()


def elements(workload: Workload) -> int:
    """Return how many elements its input tensors have."""
    return sum(prod(item.shape) for item in workload.inputs if isinstance(item, TensorSpec))
