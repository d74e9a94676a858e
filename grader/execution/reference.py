"""Reference outputs: computed in separate guests, kept on the host as numpy arrays."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from grader.errors import GraderError
from grader.judge.expected import Expected, Group, References, groups, guest_seed
from grader.judge.inputs import Array, draw_state, is_real, make_inputs, numpy_dtype
from grader.judge.tolerance import element_count
from grader.records import DType, JsonValue, Task, Workload
from grader.sandbox import (
    Form,
    GuestJob,
    GuestReply,
    GuestResult,
    GuestWorkload,
    Limits,
    converse,
)

Inputs = Mapping[str, tuple[Array | JsonValue, ...]]

DOUBLE_LIMIT = 2**26
"""Most input elements for which the reference is also computed in float64."""


def reference(
    task: Task,
    workloads: Sequence[Workload],
    seed: int,
    form: Form,
    limits: Limits,
    *,
    inputs: Inputs | None = None,
    sharp: Collection[str] | None = None,
    want_weights: bool = True,
) -> References:
    """Make inputs from the secret seed, run the task's `Model` on them, and return inputs, weights and outputs.

    `inputs` (by workload name) are taken instead where they are given. `sharp` names the workloads to compute in
    float64 as well (default: all). Weights that the reference draws itself, a gigabyte at full size, stay in its guests
    unless requested: each draws the same.

    Both constructors run under `seed`, and drawn weights depend on it. Workloads of one constructor
    call share a guest. A built-in reference that fails raises GraderError; a problem file's own
    failure stands in `Expected.failure`.
    """
    made: Inputs = inputs or {w.name: make_inputs(task, w, seed) for w in workloads}
    asking = _Asking(task, made, seed, form, limits, sharp, want_weights)
    expected: dict[str, Expected] = {}
    states: dict[str, Mapping[str, Array]] = {}
    initial: dict[str, Mapping[str, Array]] = {}
    for group in groups(workloads):
        drawn, state, answers = asking.group(group)
        expected.update(answers)
        states.update({workload.name: state for workload in group.workloads})
        if group.weights == "drawn":
            initial.update({workload.name: drawn for workload in group.workloads})
    failed = [answer for answer in expected.values() if answer.failure]
    if failed and task.source == "builtin":
        raise GraderError(f"reference {task.name} on {failed[0].workload}: {failed[0].failure}")
    return References(task.name, seed, expected, states, made, initial, task.precision or "")


@dataclass(frozen=True)
class _Asking:
    """A task's reference and how it is run."""

    task: Task
    inputs: Inputs
    seed: int
    form: Form
    limits: Limits
    sharp: Collection[str] | None
    want_weights: bool

    def group(
        self, group: Group
    ) -> tuple[Mapping[str, Array], Mapping[str, Array], dict[str, Expected]]:
        """Return the weights that the reference drew, those that it used, and its results by workload."""
        state: Mapping[str, Array] | None = None
        drawn: Mapping[str, Array] = {}
        if group.weights == "drawn":
            drawn = self._ask(group, (), want_state=True).state
            state = draw_state(drawn, self.seed)
        want = state is None and self.want_weights
        native = self._ask(group, group.workloads, state=state, want_state=want)
        known = native.state if want else state
        small = [w for w in group.workloads if self._in_float64(w)]
        double = self._ask(group, small, state=known, double=True) if small else None
        exact = {result.name: result for result in double.results} if double else {}
        plain = {result.name: result for result in native.results}
        if self.task.precision:
            rounded = {n: _round_result(one, self.task.precision) for n, one in exact.items()}
            plain = rounded | {n: one for n, one in plain.items() if one.status == "ran"}
        return (
            drawn,
            known or {},
            {
                w.name: _make_expected(w.name, plain.get(w.name), exact.get(w.name), native)
                for w in group.workloads
            },
        )

    def _in_float64(self, workload: Workload) -> bool:
        chosen = self.sharp is None or workload.name in self.sharp
        # Where torch lacks an operator in low precision, float64 is used instead.
        return element_count(workload) <= DOUBLE_LIMIT and (chosen or bool(self.task.precision))

    def _ask(self, group: Group, workloads: Sequence[Workload], **options: Any) -> GuestReply:
        job = GuestJob(
            role="reference",
            code=self.task.reference,
            entry="Model",
            device="cpu",
            workloads=tuple(GuestWorkload(w.name, self.inputs[w.name], None) for w in workloads),
            init=group.init,
            seed=guest_seed(self.seed),
            **options,
        )
        return _check_reply(converse(job, self.form, self.limits))


def _check_reply(reply: GuestReply) -> GuestReply:
    if reply.status == "grader_error":
        raise GraderError(f"the reference could not be run: {reply.reason}")
    return reply


def _round_result(result: GuestResult, precision: DType) -> GuestResult:
    """Return a float64 result rounded to a lower precision: torch lacks some half-precision operators on a CPU."""
    dtype = numpy_dtype(precision)
    outputs = tuple(
        replace(output, array=output.array.astype(dtype)) if is_real(output.array) else output
        for output in result.outputs
    )
    return replace(result, outputs=outputs)


def _readable(array: Array) -> Array:
    """Return low-precision numbers as float32, which numpy supports and which represents all of them."""
    few = is_real(array) and array.dtype.itemsize < np.dtype(np.float32).itemsize
    return array.astype(np.float32) if few else array


@np.errstate(all="ignore")
def _within_range(exact: Array, native: Array) -> Array:
    """Return a result with torch's infinities and NaN where a number, or one it is computed from, overflows its dtype."""
    if not is_real(exact) or exact.dtype.itemsize <= native.dtype.itemsize:
        return exact
    beyond = np.isfinite(exact) & ~np.isfinite(_readable(exact.astype(native.dtype)))
    if not beyond.any():
        return exact
    known = _readable(native)
    return np.where(beyond | ~np.isfinite(known), known, exact)


def _make_expected(
    name: str, native: GuestResult | None, exact: GuestResult | None, reply: GuestReply
) -> Expected:
    if native is None or native.status != "ran":
        own = native.reason if native is not None and native.status != "not_run" else ""
        why = own or reply.reason or f"the reference guest {reply.status}"
        return Expected(name, failure=why, out_of_memory=reply.out_of_memory)
    arrays = tuple(output.array for output in native.outputs)
    use = exact.outputs if exact is not None and exact.status == "ran" else native.outputs
    sharp = tuple(_readable(output.array) for output in use)
    fits = [a.shape for a in sharp] == [a.shape for a in arrays]
    sharp = tuple(map(_within_range, sharp, arrays)) if fits else sharp
    return Expected(
        name,
        sharp if fits else arrays,
        arrays,
        native.structure,
        changes=frozenset(native.mutated_inputs),
        returns=native.returned_inputs,
    )
