"""Queries on compared gradients: which workloads asked for gradients, how, and the outcome."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from grader.records.context import Context
from grader.records.finding import Evidence
from grader.records.run import Comparison, Run
from grader.records.task import Backward, Workload


@dataclass(frozen=True)
class Asked:
    """One workload that asked for gradients, with the outcome."""

    workload: Workload
    backward: Backward
    comparison: Comparison | None
    run: Run | None

    @property
    def result(self) -> str:
        """Name of the result whose values are wrong, or `form`; empty where nothing is wrong."""
        wrong = self.comparison.mismatch if self.comparison else None
        if wrong is None:
            return ""
        return wrong.result or "output" if wrong.form is None else "form"

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """Evidence of the error."""
        wrong = self.comparison.mismatch if self.comparison else None
        if wrong is None:
            return ()
        name = self.workload.name
        return (Evidence(kind="mismatch", code=wrong.kind, text=wrong.text, workload=name),)


def asked_gradients(context: Context) -> Iterator[Asked]:
    """Yield the workloads that asked for gradients and were run."""
    outcome = context.outcome
    if context.task is None or outcome is None:
        return
    comparisons = {item.workload: item for item in outcome.comparisons}
    runs = {run.workload: run for run in outcome.runs}
    for workload in context.task.judged:
        if workload.backward and workload.name in runs:
            name = workload.name
            yield Asked(workload, workload.backward, comparisons.get(name), runs[name])
