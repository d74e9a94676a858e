"""Nominal sizes of the same kind as in a sample's text: multiples of a block, or not."""

from __future__ import annotations

from collections.abc import Iterable

from grader.records import JsonValue, Task, TensorSpec, Workload
from grader.tasks.shapes import size_text

BLOCK = 256
WARP = 32


def fit_sizes(task: Task, named: Iterable[int]) -> Task:
    """Return the task with nominal sizes that suit the sizes a text names.

    Where every size in the text is a multiple of 32 (the KernelBench of 2024: 16 x 16384), a
    nominal length that isn't (65535) is replaced by the next multiple of 256, and itself becomes one of the `general`
    sizes.
    """
    sizes = [size for size in named if size >= 2 * WARP]
    if not sizes or any(size % WARP for size in sizes):
        return task
    made: list[Workload] = []
    for workload in task.workloads:
        if workload.role in {"nominal", "stress"} and _make_ragged(workload):
            made.append(_make_round(workload))
            if workload.role == "nominal":
                made.append(workload.model_copy(update={"role": "general"}))
        else:
            made.append(workload)
    unique = {workload.name: workload for workload in reversed(made)}
    return task.model_copy(update={"workloads": tuple(reversed(unique.values()))})


def _make_ragged(workload: Workload) -> bool:
    return any(
        _odd(n) for item in workload.inputs if isinstance(item, TensorSpec) for n in item.shape
    )


def _odd(size: int) -> bool:
    return size > WARP and size % WARP != 0


def _make_round(workload: Workload) -> Workload:
    inputs = tuple(
        item.model_copy(update={"shape": tuple(_up(n) for n in item.shape)})
        if isinstance(item, TensorSpec)
        else item
        for item in workload.inputs
    )
    name = workload.name.replace(_sizes(workload.inputs), _sizes(inputs), 1)
    return workload.model_copy(update={"inputs": inputs, "name": name})


def _sizes(inputs: tuple[TensorSpec | JsonValue, ...]) -> str:
    return ",".join(size_text(item.shape) for item in inputs if isinstance(item, TensorSpec))


def _up(size: int) -> int:
    step = BLOCK if size > BLOCK else WARP
    return -(-size // step) * step if _odd(size) else size
