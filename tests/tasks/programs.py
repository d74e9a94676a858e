"""Runs a task's reference right here, so that wrong programs can be made from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from grader.judge import Expected, References, compare, make_inputs
from grader.judge.inputs import draw_state, numpy_dtype
from grader.records import Comparison, Task, Workload

SEED = 20261121


@dataclass(frozen=True)
class Case:
    """A program for a task as the body of `forward`, and how it can be mistaken."""

    right: str
    mistakes: dict[str, tuple[str, str]]
    """By name: what stands in the right program, and what in the wrong one."""


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
    """One workload with its inputs, a way to run the reference, and its results."""

    task: Task
    workload: Workload
    inputs: tuple[Any, ...]
    run: Callable[[Sequence[Any], bool], tuple[np.ndarray, ...]]
    natives: tuple[np.ndarray, ...]
    exacts: tuple[np.ndarray, ...]

    def judge(self, arrays: Sequence[np.ndarray]) -> Comparison:
        structure = "tensor" if len(self.natives) == 1 else "tuple"
        expected = Expected(self.workload.name, self.exacts, self.natives, structure)
        references = References(
            self.task.name,
            SEED,
            {self.workload.name: expected},
            {},
            {self.workload.name: self.inputs},
        )
        given = zip(arrays, self.natives, strict=True)
        found = tuple(Output(np.asarray(array, native.dtype)) for array, native in given)
        return compare(self.task, self.workload, references, Outputs(found, structure))


def bench(task: Task, workload: Workload, seed: int = SEED) -> BuildWorkspace:
    inputs = make_inputs(task, workload, seed)
    model = construct(task, workload, seed)

    def run(arguments: Sequence[Any], double: bool) -> tuple[np.ndarray, ...]:
        with torch.no_grad():
            return results_of((model.double() if double else model.float()), arguments, double)

    return BuildWorkspace(task, workload, inputs, run, run(inputs, False), run(inputs, True))


def results_of(
    program: Callable[..., Any], arguments: Sequence[Any], double: bool = False
) -> tuple[np.ndarray, ...]:
    """Return what a program of tensors gives, as arrays: one, or several."""
    tensors = [as_tensor(v) if isinstance(v, np.ndarray) else v for v in arguments]
    if double:
        tensors = [
            t.double()
            if isinstance(t, torch.Tensor) and t.is_floating_point() and t.itemsize > 1
            else t
            for t in tensors
        ]
    found = program(*tensors)
    made = tuple(as_array(t) for t in (found if isinstance(found, tuple) else (found,)))
    few = ("bfloat16", "float8_e4m3fn", "float8_e5m2")
    return tuple(a.astype(np.float32) if double and a.dtype.name in few else a for a in made)


def as_tensor(array: np.ndarray) -> torch.Tensor:
    """Return an array as a tensor of the type of the same name; numpy's own don't include all of torch's."""
    whole = {1: np.uint8, 2: np.int16}.get(array.dtype.itemsize)
    bits = np.array(array).view(whole) if array.dtype.kind in "fV" and whole else np.array(array)
    return torch.from_numpy(bits).view(getattr(torch, array.dtype.name))


def as_array(tensor: torch.Tensor) -> np.ndarray:
    """Return a tensor as an array of the type of the same name."""
    dtype = numpy_dtype(str(tensor.dtype).removeprefix("torch."))
    whole = {1: torch.uint8, 2: torch.int16}.get(tensor.itemsize)
    bits = tensor.view(whole) if tensor.is_floating_point() and whole else tensor
    return np.asarray(bits.numpy().view(dtype))


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
