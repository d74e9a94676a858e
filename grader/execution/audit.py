"""The audit of a task: whether wrong programs would pass.

Public benchmarks have dozens of problems with weak verdicts: outputs that are always zero, losses of uniform noise that
are always the same, outputs far below an absolute tolerance. And a wrong program may be right at a reduced size.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from grader.execution.reference import reference
from grader.judge.compare import equal_values
from grader.judge.elements import within_kernelbench
from grader.judge.expected import Expected, References
from grader.judge.inputs import Array, is_real
from grader.judge.variations import SECONDS, Arguments, Kind, results, variations
from grader.records import DECIDING, Task, Workload
from grader.sandbox import Form, Limits

Own = Literal[
    "zeros",
    "a constant",
    "a constant multiple",
    "half precision",
    "the input",
    "zero gradients",
    "the upstream gradient",
    "gradients in another order",
]
"""Wrong programs that need no reference; those with wrong gradients have right results."""
KINDS: tuple[str, ...] = (*get_args(Own), *get_args(Kind))
"""All kinds of wrong programs, in the order of a table's columns."""
TRIVIAL = frozenset(
    {*get_args(Own), "the answer to other inputs", "a skipped part", "the gradient for ones"}
)
"""Kinds that are wrong at any meaningful task. Each other kind is right at some task: a sum of all its inputs is the
same in any order."""


@dataclass(frozen=True)
class AuditRow:
    """The result of one wrong program."""

    program: str
    """Its kind and, for some kinds, after a colon the input, dim or parameter that it changes."""
    passes: tuple[str, ...]
    """Deciding workloads on which it passes."""
    fails: tuple[str, ...]
    unknown: tuple[str, ...] = ()
    """Deciding workloads on which it was not computed: out of time, or the guest ended."""
    kernelbench: bool = False
    """Whether KernelBench's tolerance would let it pass at the nominal sizes."""

    @property
    def kind(self) -> str:
        """Return its kind, one of `KINDS`."""
        return self.program.partition(":")[0]

    @property
    def caught(self) -> bool:
        """Whether the task distinguishes it from a right program, or the program doesn't exist for the task."""
        return bool(self.fails) or not self.passes


def audit(
    task: Task,
    form: Form,
    limits: Limits,
    seed: int = 0,
    workloads: Collection[Workload] | None = None,
    programs: Collection[str] | None = None,
    seconds: float = SECONDS,
) -> tuple[AuditRow, ...]:
    """Return the results of wrong programs on the task's deciding workloads.

    `seconds` is the time of each guest that computes variations of the reference; for a variation that is not reached,
    the row says `unknown`. `workloads` and `programs` restrict the audit to these. Where the reference is NaN or
    infinite, or fails, a workload is left out. Raises GraderError where the reference of a built-in task can't be run.
    """
    asked = (
        tuple(w for w in task.workloads if w.role in DECIDING) if workloads is None else workloads
    )
    right = reference(task, tuple(asked), seed, form, limits)
    usable = tuple(w for w in asked if _usable(right.expected[w.name]))
    varied = {
        w.name: [v for v in variations(task, w, right) if programs is None or v.program in programs]
        for w in usable
    }
    made = {
        name: run for name, run in _made_here(right).items() if programs is None or name in programs
    }
    others = dict.fromkeys(v.program for some in varied.values() for v in some)
    parts: dict[str, list[AuditRow]] = {name: [] for name in (*made, *others)}

    def add_rows(workload: Workload) -> None:
        found = results(task, varied, (workload,), right, form, limits, seconds)
        for name, run in (made | {name: _native_of(found, name) for name in others}).items():
            parts[name].append(_row(task, workload, right, name, run))

    for workload in usable:  # one at a time: the results of all would be hundreds of megabytes
        add_rows(workload)
    asked_of = {w: {v.program for v in some} for w, some in varied.items()}
    nominal = {w.name for w in usable if w.role == "nominal"}
    joined = (_join_rows(name, rows, nominal) for name, rows in parts.items())
    return tuple(_with_unknown(row, asked_of) for row in joined)


def weaknesses(rows: tuple[AuditRow, ...]) -> tuple[str, ...]:
    """Return why a task's verdicts are weak: one sentence for each wrong program that passes.

    Of the kinds that are right at some tasks, only trivial programs are evidence by themselves.
    """
    return tuple(f"{program} would pass" for program in undetected_programs(rows))


def undetected_programs(rows: tuple[AuditRow, ...]) -> tuple[str, ...]:
    """Return the trivial programs that pass on every workload."""
    weak = (row for row in rows if row.kind in TRIVIAL)
    return tuple(row.program for row in weak if row.passes and not row.caught)


Program = Callable[[Workload], tuple[Array, ...] | None]


def _usable(expected: Expected) -> bool:
    return not expected.failure and expected.judgeable


def _made_here(right: References) -> Mapping[str, Program]:
    def natives(workload: Workload) -> tuple[Array, ...]:
        return right.expected[workload.name].native

    def map_program(change: Callable[[Array], Array]) -> Program:
        return lambda workload: tuple(change(array) for array in natives(workload))

    def halved_outputs(workload: Workload) -> tuple[Array, ...] | None:
        """Return None where the outputs are in half precision, as requested, or not floating-point."""
        arrays = natives(workload)
        full = any(is_real(a) and a.dtype.itemsize > 2 for a in arrays)
        return tuple(map(_halve, arrays)) if full else None

    def multiple(workload: Workload) -> tuple[Array, ...] | None:
        """Return None where the outputs are booleans, which have no multiple."""
        arrays = natives(workload)
        truths = all(array.dtype.kind == "b" for array in arrays)
        return None if truths else tuple(_keep_values(array * 1.01, array) for array in arrays)

    def unchanged_input(workload: Workload) -> tuple[Array, ...] | None:
        return _input_like(right.inputs[workload.name], natives(workload))

    return {
        "zeros": map_program(np.zeros_like),
        "a constant": map_program(constant),
        "a constant multiple": multiple,
        "half precision": halved_outputs,
        "the input": unchanged_input,
        **{name: _with_gradients(right, change) for name, change in _GRADIENTS.items()},
    }


Change = Callable[[tuple[Array, ...], Array], tuple[Array, ...]]


def _with_gradients(right: References, change: Change) -> Program:
    """Return a program with right results and changed gradients; None without gradients or where that is impossible."""

    def run(workload: Workload) -> tuple[Array, ...] | None:
        asked, natives = workload.backward, right.expected[workload.name].native
        count = len(asked.names) if asked else 0
        if asked is None or not count:
            return None
        upstream = np.asarray(right.inputs[workload.name][-1 - asked.upstream])
        try:
            made = change(natives[-count:], upstream)
        except ValueError:  # of another shape
            return None
        return (*natives[:-count], *made) if made else None

    return run


def _reorder_gradients(gradients: tuple[Array, ...], _: Array) -> tuple[Array, ...]:
    """Return the gradients in another order, where all have one shape."""
    same = len({gradient.shape for gradient in gradients}) == 1 < len(gradients)
    return (*gradients[1:], gradients[0]) if same else ()


_GRADIENTS: Mapping[str, Change] = {
    "zero gradients": lambda gradients, _: tuple(map(np.zeros_like, gradients)),
    "the upstream gradient": lambda gradients, upstream: tuple(
        _keep_values(np.broadcast_to(upstream, gradient.shape), gradient) for gradient in gradients
    ),
    "gradients in another order": _reorder_gradients,
}


def _native_of(found: Mapping[tuple[str, str], Expected], program: str) -> Program:
    def run(workload: Workload) -> tuple[Array, ...] | None:
        expected = found.get((workload.name, program))
        return expected.native if expected is not None else None

    return run


def _row(task: Task, workload: Workload, right: References, name: str, run: Program) -> AuditRow:
    """Return the result of a program on one workload: neither passed nor failed where it has no answer."""
    arrays = run(workload)
    if not arrays:
        return AuditRow(name, (), ())
    natives = right.expected[workload.name].native
    fits = [a.shape for a in arrays] == [n.shape for n in natives]
    passes = fits and equal_values(task, workload, right, arrays)
    pairs = zip(arrays, natives, strict=True) if fits else ()
    lenient = fits and all(within_kernelbench(a, n) for a, n in pairs)
    there = (workload.name,)
    return AuditRow(name, there if passes else (), () if passes else there, kernelbench=lenient)


def _join_rows(name: str, rows: Sequence[AuditRow], nominal: Collection[str]) -> AuditRow:
    """Return one row of a program's results on several workloads."""
    passes = tuple(workload for row in rows for workload in row.passes)
    fails = tuple(workload for row in rows for workload in row.fails)
    lenient = [row.kernelbench for row in rows if {*row.passes, *row.fails} & {*nominal}]
    return AuditRow(name, passes, fails, kernelbench=bool(lenient) and all(lenient))


def _with_unknown(row: AuditRow, asked: Mapping[str, Collection[str]]) -> AuditRow:
    """Return the row with the workloads on which the program was requested and not computed."""
    known = {*row.passes, *row.fails}
    unknown = tuple(
        name for name, some in asked.items() if row.program in some and name not in known
    )
    return replace(row, unknown=unknown)


def _keep_values(values: Array, like: Array) -> Array:
    return np.asarray(values).astype(like.dtype)


def constant(array: Array) -> Array:
    """Return the output's mean, the best constant for a program that ignores its inputs."""
    if array.size < 2:
        return _keep_values(array * 0 + 1, array)
    return _keep_values(np.full(array.shape, np.mean(array.astype(np.float64))), array)


def _halve(array: Array) -> Array:
    if not is_real(array):
        return _keep_values(array + (array == 0), array)
    with np.errstate(over="ignore"):
        return _keep_values(array.astype(np.float16), array)


def _input_like(given: Arguments, natives: tuple[Array, ...]) -> tuple[Array, ...] | None:
    """Return the first input with the output's shape, for a single output."""
    if len(natives) != 1:
        return None
    for value in given:
        if isinstance(value, np.ndarray) and value.shape == natives[0].shape:
            return (_keep_values(value, natives[0]),)
    return None
