"""A wrong program runs again, on inputs that tell the causes of a wrong result apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from grader.devices.base import Device
from grader.judge import References
from grader.judge.probes import Plan, explain, plan
from grader.judge.tolerance import element_count
from grader.records import DECIDING, Build, Comparison, Evidence, Submission, Task

Ask = Callable[[Task, Plan], References]
"""Returns what the reference gives on a plan's inputs."""


def probe_wrong(
    device: Device,
    submission: Submission,
    build: Build,
    task: Task,
    references: References,
    comparisons: Sequence[Comparison],
    ask: Ask,
) -> tuple[Evidence, ...]:
    """Return what probes of the smallest deciding workload with wrong values show.

    Empty where there is none, or where the reference or the submission fails on them. Raises
    GraderError where something of ours fails.
    """
    wrong = {
        item.workload for item in comparisons if item.decides and item.mismatch and _plain(item)
    }
    chosen = [w for w in task.judged if w.name in wrong and w.role in DECIDING]
    if not chosen:
        return ()
    workload = min(chosen, key=element_count)
    planned = plan(workload, references.inputs[workload.name])
    if planned is None:
        return ()
    asked = task.model_copy(update={"workloads": planned.workloads})
    known = ask(asked, planned)
    results = device.run(submission, build, asked, known)
    exact = {name: item.exact for name, item in known.expected.items() if not item.failure}
    actual = {
        item.run.workload: [output.array for output in item.outputs]
        for item in results
        if item.run.status == "ran"
    }
    return explain(planned, exact, actual, workload.name)


def _plain(item: Comparison) -> bool:
    return item.mismatch is not None and item.mismatch.kind == "values"
