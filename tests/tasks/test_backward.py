"""Tasks with gradients: the reference gives them everywhere, right kernels in torch pass, mistakes of each kind are found.

Programs are torch here; each is a `torch.autograd.Function`, as an answer writes it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from grader.guest.backward import Caller
from grader.judge import Expected, References, compare, make_inputs
from grader.records import Backward, Comparison, Task, Workload
from grader.tasks import builtin_tasks, named
from grader.tasks.backward import RESULTS

from .programs import SEED, Output, Outputs, construct

torch.set_num_threads(1)
NAMES = sorted(RESULTS)


def results(
    caller: Any, given: tuple[Any, ...], *, double: bool = False
) -> tuple[np.ndarray[Any, Any], ...]:
    tensors = [torch.from_numpy(np.array(v)) if isinstance(v, np.ndarray) else v for v in given]
    if double:
        tensors = [
            t.double() if isinstance(t, torch.Tensor) and t.is_floating_point() else t
            for t in tensors
        ]
    with torch.no_grad():
        return tuple(t.detach().numpy() for t in caller(*tensors))


def judged(task: Task, workload: Workload, program: Any = None) -> Comparison:
    """Compare a program (the reference itself without one) with the reference on a workload."""
    given = make_inputs(task, workload, SEED)
    model = construct(task, workload, SEED)
    natives = results(Caller(model, exact=True), given)
    exacts = results(
        Caller(construct(task, workload, SEED).double(), exact=True), given, double=True
    )
    arrays = natives if program is None else results(Caller(program), given)
    known = References(
        task.name,
        SEED,
        {workload.name: Expected(workload.name, exacts, natives, "tuple")},
        {},
        {workload.name: given},
    )
    found = tuple(Output(array) for array in arrays)
    return compare(task, workload, known, Outputs(found, "tuple"))


@pytest.mark.parametrize("name", NAMES)
def test_the_reference_passes_and_gives_every_gradient(name: str) -> None:
    task = named(f"{name}-backward", None)
    assert task.full is not None
    assert task.full.backward
    assert len({w.name for w in task.workloads}) == len(task.workloads)
    for workload in task.judged:
        comparison = judged(task, workload)
        assert comparison.equal, (workload.name, comparison.mismatch)
        assert comparison.decides, workload.name


@pytest.mark.parametrize("name", NAMES)
def test_it_is_asked_in_all_ways(name: str) -> None:
    task = named(f"{name}-backward", None)
    asked = [w.backward for w in task.judged if isinstance(w.backward, Backward)]
    assert len(asked) == len(task.judged)
    assert {one.way for one in asked} == {"once", "twice", "without grad"}
    several = len(asked[0].by) > 1
    assert several == any(len(one.by) < len(asked[0].by) for one in asked)


def test_a_task_without_gradients_has_no_such_form() -> None:
    assert "argmax-dim" in builtin_tasks()
    with pytest.raises(Exception, match="no task called"):
        named("argmax-dim-backward", None)
