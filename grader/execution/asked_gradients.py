"""The gradients that a problem's reference has, found by running it in a guest."""

from __future__ import annotations

import numpy as np

from grader.execution.reference import reference
from grader.judge.expected import References
from grader.records import Backward, Task, Workload
from grader.sandbox import Form, Limits
from grader.tasks.backward import is_real, with_gradients
from grader.tasks.shapes import Shape

SEED = 0
NONE = "its gradients are not judged: the reference gives none"


def ask_gradients(task: Task, form: Form, limits: Limits) -> Task:
    """Return a described problem with gradients for its real inputs and parameters, as far as they exist.

    Its full size is dropped: the shapes of results are known only where the reference runs.
    """
    known = reference(task, task.judged, SEED, form, limits)
    shapes = {w.name: found for w in task.judged if (found := _results(known, w))}
    by = _differentiable(task, known, shapes, form, limits) if shapes else ()
    if not by:
        return task.model_copy(update={"notes": (*task.notes, NONE), "backward": False})
    return with_gradients(task, shapes, by)


def _results(known: References, workload: Workload) -> list[Shape]:
    """Return the shapes of the results of floating point."""
    return [a.shape for a in known.expected[workload.name].native if a.dtype.kind == "f"]


def _differentiable(
    task: Task, known: References, shapes: dict[str, list[Shape]], form: Form, limits: Limits
) -> tuple[str, ...]:
    """Return the inputs and parameters that the reference has gradients for; a buffer has none."""
    first = next(w for w in task.judged if w.name in shapes)
    inputs = [f"input {k + 1}" for k, item in enumerate(first.inputs) if is_real(item)]
    held = known.states.get(first.name, {})
    names = (*inputs, *sorted(name for name, value in held.items() if value.dtype.kind == "f"))
    asked = with_gradients(task.model_copy(update={"workloads": (first,)}), shapes, names)
    trial = asked.workloads[0]
    found = reference(asked, (trial,), SEED, form, limits).expected[trial.name].native
    assert isinstance(trial.backward, Backward)
    pairs = zip(names, found[-len(names) :], strict=False)
    return tuple(name for name, value in pairs if np.size(value))
