"""Numeric probes: a wrong program runs again on inputs that distinguish the causes of a wrong result."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from grader.devices.base import Device, RunResult
from grader.judge import References, compare
from grader.judge.probes import BASE, Plan, explain, plan
from grader.judge.tolerance import element_count
from grader.records import DECIDING, Build, Comparison, Evidence, Submission, Task

Ask = Callable[[Task, Plan], References]
"""Returns the reference's outputs on a plan's inputs."""


def probe_wrong(
    device: Device,
    submission: Submission,
    build: Build,
    task: Task,
    references: References,
    comparisons: Sequence[Comparison],
    ask: Ask,
) -> tuple[Evidence, ...]:
    """Return evidence from probes of the smallest deciding workload with wrong values.

    Empty where there is none, or where the reference or the submission fails on them. Raises GraderError for a failure
    of the grader.
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
    if workload != task.judged[0] and _is_right_first(asked, known, results):
        text = "right where it is called first, and wrong after calls on other inputs"
        return (Evidence(kind="probe", code="probe-unsteady", text=text, workload=workload.name),)
    exact = {name: item.exact for name, item in known.expected.items() if not item.failure}
    actual = {
        item.run.workload: [output.array for output in item.outputs]
        for item in results
        if item.run.status == "ran"
    }
    return explain(planned, exact, actual, workload.name)


def _is_right_first(task: Task, references: References, results: Sequence[RunResult]) -> bool:
    """Whether the wrong workload is right in a new process without earlier calls."""
    base = next(workload for workload in task.workloads if workload.name == BASE)
    found = (result for result in results if result.run.workload == BASE)
    return any(
        result.run.status == "ran" and compare(task, base, references, result).equal
        for result in found
    )


def _plain(item: Comparison) -> bool:
    return item.mismatch is not None and item.mismatch.kind == "values"
