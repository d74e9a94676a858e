"""Submissions that are wrong only because they draw their weights in another way."""

from __future__ import annotations

from collections.abc import Sequence

from grader.records import DECIDING, Comparison, Evidence, Run, Task

OWN_WEIGHTS = "own-weights"


def own_weights(
    task: Task, comparisons: Sequence[Comparison], runs: Sequence[Run] = ()
) -> tuple[Evidence, ...]:
    """Return the evidence that a submission is right with the reference's weights only.

    As in KernelBench, `Model` and `ModelNew` are constructed under the same seed and each draws its weights, so a
    submission that draws them in another way computes another function. If it is wrong wherever it drew them and right
    wherever it was given them, nothing else is wrong. What it was given them for has to run the same kernels: where
    it leaves another size to torch, that is right in any case.
    """
    weights = {workload.name: workload.weights for workload in task.workloads}
    counting = [item for item in comparisons if item.decides and item.workload in weights]
    deciding = [item for item in counting if item.role in DECIDING]
    seen = {(weights[item.workload], item.equal) for item in counting}
    if seen != {("initial", False), ("drawn", True)} or not deciding:
        return ()
    launched = {run.workload: {one.kernel for one in run.launches} for run in runs}
    given = [item.workload for item in counting if weights[item.workload] == "drawn"]
    needed = set().union(*(launched.get(item.workload, set()) for item in deciding))
    if not any(needed <= launched.get(name, set()) for name in given):
        return ()
    text = "the result is right with the reference's weights and wrong with those that it draws"
    return (Evidence(kind="mismatch", code=OWN_WEIGHTS, text=text, workload=deciding[0].workload),)
