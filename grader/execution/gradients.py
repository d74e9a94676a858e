"""Dependences of single elements of a task's reference output, computed by a separate guest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from grader.judge import References, groups
from grader.judge.expected import guest_seed
from grader.judge.inputs import Array, is_real
from grader.judge.way import Way
from grader.records import Task, Workload
from grader.sandbox import Form, GuestJob, GuestWorkload, Limits, converse


@dataclass(frozen=True)
class Needs:
    """Dependences and intermediate values of one element of the reference's output."""

    gradients: Mapping[str, Array]
    """By `input 1` and so on, and by weight."""
    way: Way


def gradients(
    task: Task,
    workload: Workload,
    known: References,
    asked: Sequence[tuple[int, int]],
    form: Form,
    limits: Limits,
) -> list[Needs]:
    """Return the dependences and intermediate values of each requested element (output, flat index).

    Empty where the reference can't be differentiated.
    """
    arguments, state = known.inputs[workload.name], known.states.get(workload.name)
    job = _differentiating_job(task, workload, known, asked)
    reply = converse(job, form, limits)
    result = reply.results[0] if reply.results else None
    if result is None or result.status != "ran":
        return []
    names = [
        f"input {number + 1}"
        for number, value in enumerate(arguments)
        if isinstance(value, np.ndarray) and is_real(value)
    ]
    names += sorted(name for name, value in (state or {}).items() if is_real(value))
    return _needs(names, [output.array for output in result.outputs], len(asked))


def _differentiating_job(
    task: Task, workload: Workload, known: References, asked: Sequence[tuple[int, int]]
) -> GuestJob:
    group = next(
        g for g in groups(task.judged) if any(w.name == workload.name for w in g.workloads)
    )
    return GuestJob(
        role="reference",
        code=task.reference,
        entry="Model",
        device="cpu",
        workloads=(GuestWorkload(workload.name, tuple(known.inputs[workload.name])),),
        init=group.init,
        seed=guest_seed(known.seed),
        state=known.states.get(workload.name),
        double=True,
        options={"gradients": {workload.name: [list(one) for one in asked]}},
    )


def _needs(names: Sequence[str], arrays: list[Array], asked: int) -> list[Needs]:
    """Read a guest's arrays: the gradients of each asked element in turn, then the ways, then what few and many make."""
    many, few = (arrays.pop().ravel() if arrays else np.zeros(0) for _ in range(2))
    way = arrays.pop() if arrays else np.zeros((asked, 0))
    each = len(arrays) // asked if asked else 0
    return [
        Needs(
            dict(zip(names, arrays[at * each : (at + 1) * each], strict=False)),
            Way(way[at] if way.ndim == 2 and at < len(way) else np.zeros(0), few, many),
        )
        for at in range(asked)
    ]
