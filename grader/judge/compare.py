"""One workload's outputs against the reference: equal or not, and how they differ.

A guest's arrays are hostile: any dtype of the protocol's closed list, NaN with payloads,
infinities, extreme sizes. All arithmetic here is in float64 on copies, without warnings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np

from grader.judge.elements import (
    Pair,
    numbers_only,
    root_mean_square,
    tolerance_widening,
    within_kernelbench,
    wrong_elements,
    wrong_in,
)
from grader.judge.expected import Expected, References
from grader.judge.inputs import Array
from grader.judge.mismatch import form_in_words, mismatch_of
from grader.judge.other_gradient import taken_for
from grader.judge.slope import slope
from grader.judge.tolerance import (
    half_sum_tolerance,
    half_tolerance,
    reduction_length,
    tolerance,
)
from grader.judge.wrong import Wrong
from grader.records import (
    Comparison,
    ContainerMismatch,
    CountMismatch,
    DeviceMismatch,
    DtypeMismatch,
    Evidence,
    FormMismatch,
    JsonValue,
    Mismatch,
    MissingGradient,
    ShapeMismatch,
    Task,
    Workload,
)

Kind = Literal["shape", "dtype", "device", "count", "type"]


class Output(Protocol):
    """One tensor returned by a guest."""

    @property
    def array(self) -> Array:
        """Return its values."""

    @property
    def device(self) -> str:
        """Return the device that the guest reported, e.g. `cuda:0`."""

    @property
    def dtype(self) -> str:
        """Return torch's name of the dtype; empty where it is the array's own."""


class Outputs(Protocol):
    """The result of `forward`."""

    @property
    def outputs(self) -> Sequence[Output]:
        """Return its tensors, flattened."""

    @property
    def structure(self) -> str:
        """Return their container: `tensor`, `tuple`, `list`, ..."""


@np.errstate(all="ignore")  # a guest's bits may be a signalling NaN, which warns at any cast
def compare(
    task: Task, workload: Workload, references: References, result: Outputs, *, device: str = "cuda"
) -> Comparison:
    """Return whether the outputs equal the reference, and how they differ where they don't.

    `device` is the device that the outputs must be on ("" for any). Every element must fulfil |a - r| <= absolute *
    scale + relative * |r|, with `scale` the reference's root mean square (zero for a single number), or be within the
    range of underflow; NaN equals NaN, and an infinity the same infinity. The comparison doesn't decide where the
    reference itself fails, or most of its elements are NaN or infinite; where few are, the others decide.
    """
    expected = references.expected[workload.name]
    if expected.failure:
        note = f"the reference itself fails: {expected.failure}"
        return Comparison(
            workload=workload.name, role=workload.role, equal=True, decides=False, note=note
        )
    mismatch = _form(workload, expected, result, device)
    if mismatch is not None:
        return _comparison(workload, mismatch, decides=expected.judgeable, kernelbench=False)
    return _compare_values(task, workload, references, result)


def _compare_values(
    task: Task, workload: Workload, references: References, outputs: Outputs
) -> Comparison:
    reference, inputs = references.expected[workload.name], references.inputs[workload.name]
    arrays = (output.array for output in outputs.outputs)
    pairs = list(map(Pair, arrays, reference.exact, reference.native))
    judged, decides = _judge(task, workload, inputs, pairs, reference)
    names = result_names(workload, len(judged))
    exact = dict(zip(names, reference.exact, strict=True)) if len(set(names)) == len(names) else {}
    gradients = {name: value for name, value in exact.items() if name.startswith("gradient")}
    wrong = [
        replace(item, mismatch=_name_mismatch(_known_as(item.mismatch, known), name))
        for item, name, output in zip(judged, names, outputs.outputs, strict=True)
        if item.mismatch is not None
        for known in [
            taken_for(workload, name, output.array, gradients, inputs) if name in gradients else ()
        ]
    ]
    worst = _worst(wrong)
    return _comparison(
        workload,
        worst.mismatch if worst else None,
        decides=decides,
        kernelbench=all(item.kernelbench for item in judged),
        half=bool(wrong) and all(item.half for item in judged),
        note="; ".join(dict.fromkeys(item.note for item in judged if item.note)),
    )


def _judge(
    task: Task,
    workload: Workload,
    inputs: Sequence[Array | JsonValue],
    pairs: Sequence[Pair],
    reference: Expected,
) -> tuple[list[_Judged], bool]:
    """Judge each result, and whether it decides: where some of the reference's elements aren't finite, the others do."""
    every = [_values(task, workload, inputs, pair) for pair in pairs]
    right = not any(item.mismatch for item in every)
    if reference.finite or right or not reference.judgeable:
        return every, reference.finite or (right and reference.judgeable)
    numbers = [_values(task, workload, inputs, numbers_only(pair)) for pair in pairs]
    if not any(item.mismatch for item in numbers):
        return every, False
    return [
        replace(one, kernelbench=whole.kernelbench)
        for one, whole in zip(numbers, every, strict=True)
    ], True


def result_names(workload: Workload, count: int) -> tuple[str, ...]:
    """Return the name of each result: of gradients by their input, of others by their position."""
    gradients = workload.backward.names if workload.backward else ()
    plain = count - len(gradients)
    if plain < 1:
        return ("",) * count
    outputs = [f"output {number + 1}" for number in range(plain)]
    return (*(outputs if plain > 1 else ["output" if gradients else ""]), *gradients)


def _known_as(mismatch: Mismatch, known: tuple[Evidence, ...]) -> Mismatch:
    """Return a mismatch that begins with the known tensor that the result equals, if there is one."""
    if not known:
        return mismatch
    text = f"{mismatch.text}: {known[0].text}"
    return mismatch.model_copy(update={"text": text, "patterns": (*known, *mismatch.patterns)})


def _name_mismatch(mismatch: Mismatch, name: str) -> Mismatch:
    if not name:
        return mismatch
    said = name if name[-1].isdigit() and name.startswith("output") else f"the {name}"
    return mismatch.model_copy(update={"result": name, "text": f"{said}: {mismatch.text}"})


def _worst(wrong: Sequence[_Judged]) -> _Judged | None:
    """Return the mismatch with the most wrong elements; a wrong output before its gradients."""

    def size(item: _Judged) -> float:
        return item.mismatch.fraction if item.mismatch else 0.0

    gradient = [item for item in wrong if item.mismatch and item.mismatch.result.startswith("grad")]
    outputs = [item for item in wrong if item not in gradient]
    return max(outputs or gradient, key=size, default=None)


@np.errstate(all="ignore")
def equal_values(
    task: Task, workload: Workload, references: References, arrays: Sequence[Array]
) -> bool:
    """Return whether arrays of the reference's shapes are right, without describing the difference."""
    expected = references.expected[workload.name]
    pairs = map(Pair, arrays, expected.exact, expected.native)
    judged = pairs if expected.finite or not expected.judgeable else map(numbers_only, pairs)
    return all(_equal(task, workload, pair) for pair in judged)


@np.errstate(all="ignore")
def roughly_equal(expected: Expected, arrays: Sequence[Array]) -> bool:
    """Return whether arrays of the reference's shapes are right to half precision."""
    return all(
        (half := half_tolerance(str(native.dtype))) is not None
        and not wrong_elements(array, exact, half, root_mean_square(exact)).any()
        for array, exact, native in zip(arrays, expected.exact, expected.native, strict=True)
    )


def _equal(task: Task, workload: Workload, pair: Pair) -> bool:
    bound = tolerance(task, workload, str(pair.native.dtype))
    scale = root_mean_square(pair.exact)
    return not wrong_in(pair, bound, scale, tolerance_widening(pair, bound, scale)).any()


@dataclass(frozen=True)
class _Judged:
    mismatch: Mismatch | None
    kernelbench: bool
    half: bool = False
    note: str = ""


def _comparison(
    workload: Workload,
    mismatch: Mismatch | None,
    *,
    decides: bool,
    kernelbench: bool,
    half: bool = False,
    note: str = "",
) -> Comparison:
    said = (
        [] if decides else ["the reference itself is NaN or infinite here; not part of the verdict"]
    )
    return Comparison(
        workload=workload.name,
        role=workload.role,
        equal=mismatch is None,
        decides=decides,
        mismatch=mismatch,
        half_precision=half,
        kernelbench_equal=kernelbench,
        note="; ".join([*said, note] if note else said),
    )


def _form(
    workload: Workload, reference: Expected, outputs: Outputs, device: str
) -> Mismatch | None:
    """Return a mismatch of number, type, shape, dtype or device, which is checked before values."""
    if len(outputs.outputs) != len(reference.native):
        return _formal("count", CountMismatch(got=len(outputs.outputs), want=len(reference.native)))
    if _container(outputs.structure) != _container(reference.structure):
        return _formal("type", ContainerMismatch(got=outputs.structure, want=reference.structure))
    missing = _missing_gradients(workload, reference, outputs)
    names = result_names(workload, len(reference.native))
    for name, output, native in zip(names, outputs.outputs, reference.native, strict=True):
        form = missing.get(name)
        found = _formal("count", form) if form else _form_of_one(output, native, device)
        if found is not None:
            return (
                found.model_copy(update={"result": name}) if form else _name_mismatch(found, name)
            )
    return None


def _missing_gradients(
    workload: Workload, reference: Expected, outputs: Outputs
) -> Mapping[str, MissingGradient]:
    """Return the names of missing gradients: the guest sends an empty tensor for each."""
    asked = workload.backward
    names = asked.names if asked else ()
    if not names:
        return {}
    pairs = zip(outputs.outputs, reference.native, strict=True)
    empty = [output.array.shape == (0,) != native.shape for output, native in pairs]
    gone = [name for name, absent in zip(names, empty[-len(names) :], strict=True) if absent]
    every = len(gone) == len(names)
    return {name: MissingGradient(of=name.removeprefix("gradient of "), all=every) for name in gone}


def _container(structure: str) -> str:
    return "sequence" if structure in {"tuple", "list"} else structure


def _form_of_one(output: Output, native: Array, device: str) -> Mismatch | None:
    if output.array.shape != native.shape:
        return _formal("shape", ShapeMismatch(got=output.array.shape, want=native.shape))
    said = output.dtype or str(output.array.dtype)
    if said != str(native.dtype) or output.array.dtype != native.dtype:
        return _formal("dtype", DtypeMismatch(got=said, want=str(native.dtype)))
    if device and output.device.split(":")[0] != device:
        return _formal("device", DeviceMismatch(got=output.device, want=device))
    return None


def _formal(kind: Kind, form: FormMismatch) -> Mismatch:
    return Mismatch(kind=kind, text=form_in_words(form), fraction=1.0, form=form)


def _values(
    task: Task, workload: Workload, inputs: Sequence[Array | JsonValue], pair: Pair
) -> _Judged:
    dtype = str(pair.native.dtype)
    bound = tolerance(task, workload, dtype)
    scale = root_mean_square(pair.exact)
    kernelbench = within_kernelbench(pair.actual, pair.native)
    widened = tolerance_widening(pair, bound, scale)
    mask = wrong_in(pair, bound, scale, widened)
    note = (
        f"tolerance times {widened:.3g}: torch's own result is that far off"
        if widened >= 1.005
        else ""
    )
    if not mask.any():
        return _Judged(None, kernelbench, note=note)
    half = half_tolerance(dtype)
    sums = half_sum_tolerance(dtype, reduction_length(task, workload))
    each_is_near = not wrong_elements(pair.actual, pair.exact, bound, scale, widened).any()
    wrong = Wrong(
        actual=pair.actual,
        exact=pair.exact,
        mask=mask,
        scale=scale,
        inputs=tuple(item for item in inputs if isinstance(item, np.ndarray)),
        workload=workload.name,
        half=half is not None and not wrong_elements(pair.actual, pair.exact, half, scale).any(),
        half_sums=sums is not None
        and not wrong_elements(pair.actual, pair.exact, sums, scale).any(),
        factor=1.0 + slope(pair.actual, pair.exact, bound, widened) if each_is_near else None,
    )
    mismatch = mismatch_of(wrong)
    only_half = any(pattern.code == "half-precision" for pattern in mismatch.patterns)
    return _Judged(mismatch, kernelbench, half=only_half, note=note)
