"""Would wrong programs pass? A task is asked before it judges anything.

Public benchmarks have dozens of problems whose verdict means little: outputs that are always zero,
losses of uniform noise that are always the same, outputs far below an absolute tolerance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from grader.judge.compare import compare
from grader.judge.expected import Expected, References
from grader.judge.inputs import Array
from grader.judge.reference import reference
from grader.records import DECIDING, JsonValue, Task, Workload
from grader.sandbox import Form, Limits

Arguments = tuple[Array | JsonValue, ...]


@dataclass(frozen=True)
class AuditRow:
    """What one wrong program would get."""

    program: str
    """`zeros`, `a constant`, `the input`, `a constant multiple`, `a skipped part`,
    `half precision`, `the answer to other inputs`."""
    passes: tuple[str, ...]
    """Deciding workloads on which it would be taken for right."""
    fails: tuple[str, ...]
    kernelbench: bool
    """Whether KernelBench's tolerance would let it pass at the nominal sizes."""

    @property
    def caught(self) -> bool:
        """Whether the task tells it from a right program; it may also have no such form at all."""
        return bool(self.fails) or not self.passes


@dataclass(frozen=True)
class _Array:
    array: Array
    device: str = "cuda"
    dtype: str = ""


@dataclass(frozen=True)
class _Returned:
    outputs: tuple[_Array, ...]
    structure: str


def audit(task: Task, form: Form, limits: Limits, seed: int = 0) -> tuple[AuditRow, ...]:
    """Return what wrong programs would get on the task's deciding workloads.

    Where the reference is NaN or infinite, or fails, a workload is left out. Raises GraderError
    where the reference of a built-in task can't be run.
    """
    workloads = tuple(w for w in task.workloads if w.role in DECIDING)
    right = reference(task, workloads, seed, form, limits)
    usable = tuple(w for w in workloads if _usable(right.expected[w.name]))
    skipped = {name: tuple(map(_skipped, given)) for name, given in right.inputs.items()}
    others = {
        "a skipped part": reference(task, usable, seed, form, limits, inputs=skipped).expected,
        "the answer to other inputs": reference(task, usable, seed + 1, form, limits).expected,
    }
    programs = {**_made_here(right), **{name: _native_of(some) for name, some in others.items()}}
    return tuple(_row(task, usable, right, name, run) for name, run in programs.items())


def weaknesses(rows: tuple[AuditRow, ...]) -> tuple[str, ...]:
    """Return why verdicts of a task mean little: one sentence for each program that passes."""
    return tuple(f"{row.program} would pass" for row in rows if row.passes and not row.caught)


Program = Callable[[Workload], tuple[Array, ...] | None]


def _usable(expected: Expected) -> bool:
    return not expected.failure and expected.finite


def _made_here(right: References) -> Mapping[str, Program]:
    def natives(workload: Workload) -> tuple[Array, ...]:
        return right.expected[workload.name].native

    def mapped(change: Callable[[Array], Array]) -> Program:
        return lambda workload: tuple(change(array) for array in natives(workload))

    def halved(workload: Workload) -> tuple[Array, ...] | None:
        """Return nothing where the outputs are in half precision: that is what was asked for."""
        arrays = natives(workload)
        return None if all(a.dtype.itemsize == 2 for a in arrays) else tuple(map(_halved, arrays))

    def given(workload: Workload) -> tuple[Array, ...] | None:
        return _input_like(right.inputs[workload.name], natives(workload))

    return {
        "zeros": mapped(np.zeros_like),
        "a constant": mapped(_constant),
        "a constant multiple": mapped(lambda array: _kept(array * 1.01, array)),
        "half precision": halved,
        "the input": given,
    }


def _native_of(expected: Mapping[str, Expected]) -> Program:
    return lambda workload: expected[workload.name].native or None


def _row(
    task: Task, usable: tuple[Workload, ...], right: References, name: str, run: Program
) -> AuditRow:
    passes: list[str] = []
    fails: list[str] = []
    kernelbench: list[bool] = []
    for workload, arrays in _answers(usable, right, run):
        returned = _Returned(tuple(map(_Array, arrays)), right.expected[workload.name].structure)
        found = compare(task, workload, right, returned)
        (passes if found.equal else fails).append(workload.name)
        if workload.role == "nominal":
            kernelbench.append(bool(found.kernelbench_equal))
    return AuditRow(name, tuple(passes), tuple(fails), bool(kernelbench) and all(kernelbench))


def _answers(
    usable: tuple[Workload, ...], right: References, run: Program
) -> Iterator[tuple[Workload, tuple[Array, ...]]]:
    """Yield what a program gives where it gives anything of the right form."""
    for workload in usable:
        arrays = run(workload)
        natives = right.expected[workload.name].native
        if arrays is not None and [a.shape for a in arrays] == [n.shape for n in natives]:
            yield workload, arrays


def _kept(values: Array, like: Array) -> Array:
    return np.asarray(values).astype(like.dtype)


def _constant(array: Array) -> Array:
    """Return the output's mean: what a program that ignores its inputs could at best know."""
    if array.size < 2:
        return _kept(array * 0 + 1, array)
    return _kept(np.full(array.shape, np.mean(array.astype(np.float64))), array)


def _halved(array: Array) -> Array:
    if array.dtype.kind != "f":
        return _kept(array + (array == 0), array)
    with np.errstate(over="ignore"):
        return _kept(array.astype(np.float16), array)


def _input_like(given: Arguments, natives: tuple[Array, ...]) -> tuple[Array, ...] | None:
    """Return the first input of the output's own shape, for a single output."""
    if len(natives) != 1:
        return None
    for value in given:
        if isinstance(value, np.ndarray) and value.shape == natives[0].shape:
            return (_kept(value, natives[0]),)
    return None


def _skipped(value: Array | JsonValue) -> Array | JsonValue:
    """Return an input whose second half (along its last dim) is a copy of the first."""
    if not isinstance(value, np.ndarray) or value.dtype.kind != "f" or value.ndim == 0:
        return value
    made = value.copy()
    half = value.shape[-1] // 2
    if half:
        made[..., -half:] = value[..., :half]
    return made
