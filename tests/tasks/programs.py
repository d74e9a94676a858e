"""Runs a task's reference right here, so that wrong programs can be made from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from grader.judge import Expected, References, compare, make_inputs
from grader.judge.inputs import draw_state
from grader.records import Comparison, Task, Workload

SEED = 20261121


@dataclass(frozen=True)
class Output:
    array: np.ndarray
    device: str = "cuda:0"
    dtype: str = ""


@dataclass(frozen=True)
class Outputs:
    outputs: tuple[Output, ...]
    structure: str = "tensor"


@dataclass(frozen=True)
class BuildWorkspace:
    """One workload with its inputs, a way to run the reference, and its result."""

    task: Task
    workload: Workload
    inputs: tuple[Any, ...]
    run: Callable[[Sequence[Any], bool], np.ndarray]
    native: np.ndarray
    exact: np.ndarray

    def judge(self, array: np.ndarray) -> Comparison:
        expected = Expected(self.workload.name, (self.exact,), (self.native,))
        references = References(
            self.task.name,
            SEED,
            {self.workload.name: expected},
            {},
            {self.workload.name: self.inputs},
        )
        result = Outputs((Output(np.asarray(array, self.native.dtype)),))
        return compare(self.task, self.workload, references, result)


def bench(task: Task, workload: Workload, seed: int = SEED) -> BuildWorkspace:
    inputs = make_inputs(task, workload, seed)
    model = construct(task, workload, seed)

    def run(arguments: Sequence[Any], double: bool) -> np.ndarray:
        tensors = [
            torch.from_numpy(np.array(value)) if isinstance(value, np.ndarray) else value
            for value in arguments
        ]
        if double:
            tensors = [
                t.double() if isinstance(t, torch.Tensor) and t.is_floating_point() else t
                for t in tensors
            ]
        with torch.no_grad():
            return (model.double() if double else model.float())(*tensors).numpy()

    return BuildWorkspace(task, workload, inputs, run, run(inputs, False), run(inputs, True))


def construct(task: Task, workload: Workload, seed: int) -> torch.nn.Module:
    space: dict[str, Any] = {}
    exec(task.reference, space)
    torch.manual_seed(seed)
    model = space["Model"](*workload.init)
    if workload.weights == "drawn":
        state = {name: value.numpy() for name, value in model.state_dict().items()}
        drawn = draw_state(state, seed)
        model.load_state_dict({name: torch.from_numpy(np.array(v)) for name, v in drawn.items()})
    return model
