"""Results of programs with a mistaken part of a task: its reference on other inputs, or with other weights.

Each variation is the reference with one change. Where its result equals the reference's, a program with that mistake
can't be distinguished from a right one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, islice
from typing import Literal

import numpy as np

from grader.judge.expected import Expected, Group, References, groups
from grader.judge.inputs import Array, is_mask, is_real, make_inputs
from grader.records import JsonValue, Task, Workload
from grader.sandbox import Form, GuestJob, GuestResult, GuestWorkload, Limits, converse

Arguments = tuple[Array | JsonValue, ...]
Kind = Literal[
    "the answer to other inputs",
    "a skipped part",
    "an input left out",
    "another weight",
    "swapped equal dims",
    "a permuted part",
    "a parameter left out",
    "the gradient for ones",
]
MOST_INPUTS = 4
MOST_DIMS = 4
MOST_SWAPS = 8
MOST_PARAMETERS = 16
"""Most variations of each kind: a deep network has hundreds of parameters."""
SECONDS = 20.0
"""Wall time of a guest that computes variations; the remaining ones are unknown."""
MIXED = 2**24
"""Most elements of an input that is permuted."""


@dataclass(frozen=True)
class Variation:
    """One change of the reference's computation."""

    kind: Kind
    what: str = ""
    """Which input, dim or parameter."""
    args: Arguments | None = None
    """Other arguments of forward; None for the workload's own."""
    weights: Mapping[str, JsonValue] = field(default_factory=dict)
    """The instruction for `grader.guest.altered`."""

    @property
    def program(self) -> str:
        """Return the kind and the part that it changes."""
        return f"{self.kind}: {self.what}" if self.what else self.kind


def variations(task: Task, workload: Workload, right: References) -> Iterator[Variation]:
    """Yield the effective variations of a task at a workload, the most informative first."""
    given = right.inputs[workload.name]
    others = make_inputs(task, workload, right.seed + 1)
    state = {n: a for n, a in right.states[workload.name].items() if _random(a)}
    if not _are_same(others, given):
        yield Variation("the answer to other inputs", args=others)
    if state:
        yield Variation("another weight", weights={"redraw": list(state)})
    skipped = tuple(map(_copy_first_half, given))
    if not _are_same(skipped, given):
        yield Variation("a skipped part", args=skipped)
    yield from _of_ones(workload, given)
    yield from _left_out(given, others)
    yield from islice(_swap_equal_dims(given, state), MOST_SWAPS)
    yield from _permute_halves(given)
    for name in _some(_parameters_left_out(right.states[workload.name])):
        yield Variation("a parameter left out", name, weights={"zero": [name]})


def results(
    task: Task,
    asked: Mapping[str, Sequence[Variation]],
    workloads: Sequence[Workload],
    right: References,
    form: Form,
    limits: Limits,
    seconds: float = SECONDS,
) -> Mapping[tuple[str, str], Expected]:
    """Return the variations' results, by workload and program; none for one that fails or runs out of time.

    `asked` has the variations of each workload. Workloads of one constructor call share a guest, with a time limit of
    `seconds`.
    """
    found: dict[tuple[str, str], Expected] = {}
    limits = replace(limits, wall=min(limits.wall, seconds))
    for group in groups([w for w in workloads if asked[w.name]]):
        named = {
            f"{number}": (workload.name, variation)
            for number, (workload, variation) in enumerate(
                (workload, variation)
                for workload in group.workloads
                for variation in asked[workload.name]
            )
        }
        for result in converse(_job(task, group, named, right), form, limits).results:
            workload_name, variation = named[result.name]
            if result.status == "ran":
                found[workload_name, variation.program] = _expected_of(workload_name, result)
    return found


def _job(
    task: Task, group: Group, named: Mapping[str, tuple[str, Variation]], right: References
) -> GuestJob:
    drawn = group.weights == "drawn"
    return GuestJob(
        role="reference",
        code=task.reference,
        entry="Model",
        device="cpu",
        workloads=tuple(
            GuestWorkload(key, right.inputs[name] if v.args is None else v.args, None)
            for key, (name, v) in named.items()
        ),
        init=group.init,
        seed=right.guest_seed,
        state=right.states[group.workloads[0].name] if drawn else None,
        options={"altered": {key: dict(v.weights) for key, (_, v) in named.items() if v.weights}},
    )


def _expected_of(name: str, result: GuestResult) -> Expected:
    arrays = tuple(output.array for output in result.outputs)
    return Expected(name, arrays, arrays, result.structure)


def _random(array: Array) -> bool:
    """Whether weights are random; constants and masks are a part of the operator."""
    return is_real(array) and array.size > 1 and not is_mask(array) and np.ptp(array) > 0


def _parameters_left_out(state: Mapping[str, Array]) -> list[str]:
    """Return the parameters that can be left out; a weight of ones or a bias of zeros has no effect."""
    return [
        name
        for name, array in state.items()
        if _random(array) or (is_real(array) and array.size == 1 and array.item() != 0)
    ]


def _some(names: Sequence[str]) -> Sequence[str]:
    """Return a sample of the names, evenly from the first to the last."""
    step = max(1, -(-len(names) // MOST_PARAMETERS))
    return names[::step]


def _of_ones(workload: Workload, given: Arguments) -> Iterator[Variation]:
    """Yield the variation with upstream gradients of ones, where gradients are requested."""
    asked = workload.backward
    if asked is not None and asked.way != "without grad":
        first = len(given) - 1 - asked.upstream
        ones = (np.ones_like(np.asarray(value)) for value in given[first:-1])
        yield Variation("the gradient for ones", args=(*given[:first], *ones, given[-1]))


def _left_out(given: Arguments, others: Arguments) -> Iterator[Variation]:
    """Yield a variation for each of several inputs, which is replaced by another."""
    places = [i for i, value in enumerate(given) if isinstance(value, np.ndarray)]
    for i in places[:MOST_INPUTS] if len(places) > 1 else ():
        if not _are_same(others[i : i + 1], given[i : i + 1]):
            yield Variation("an input left out", f"{i}", args=_with_argument(given, i, others[i]))


def _swap_equal_dims(given: Arguments, state: Mapping[str, Array]) -> Iterator[Variation]:
    """Yield a variation for each two equal dims of an input or a weight, which are swapped."""
    for i, value in _arrays(given):
        for a, b in _equal_dims(value):
            turned = np.ascontiguousarray(np.swapaxes(value, a, b))
            if not np.array_equal(turned, value):
                yield Variation(
                    "swapped equal dims", f"{a}, {b} of input {i}", _with_argument(given, i, turned)
                )
    for name, array in state.items():
        for a, b in _equal_dims(array):
            what = f"{a}, {b} of {name}"
            yield Variation("swapped equal dims", what, weights={"swap": [name, a, b]})


def _equal_dims(array: Array) -> list[tuple[int, int]]:
    pairs = combinations(range(array.ndim), 2)
    return [(a, b) for a, b in pairs if array.shape[a] == array.shape[b] > 1]


def _permute_halves(given: Arguments) -> Iterator[Variation]:
    """Yield a variation for each dim of each input, whose second half is reordered."""
    for i, value in _arrays(given):
        for dim in range(min(value.ndim, MOST_DIMS)):
            mixed = _mix_second_half(value, dim)
            if not np.array_equal(mixed, value):
                yield Variation(
                    "a permuted part", f"dim {dim} of input {i}", _with_argument(given, i, mixed)
                )


def _arrays(given: Arguments) -> Iterator[tuple[int, Array]]:
    found = ((i, v) for i, v in enumerate(given) if isinstance(v, np.ndarray) and v.size <= MIXED)
    yield from islice(found, MOST_INPUTS)


def _mix_second_half(value: Array, dim: int) -> Array:
    """Return the array with the second half of a dim shifted by one; short dims are reversed."""
    length = value.shape[dim]
    order = np.arange(length)
    half = length // 2
    order[half:] = np.roll(order[half:], 1) if length - half > 1 else order[half:]
    return np.take(value, order if length > 2 else order[::-1], axis=dim)


def _copy_first_half(value: Array | JsonValue) -> Array | JsonValue:
    """Return an input whose second half (along its last dim) is a copy of the first."""
    if not isinstance(value, np.ndarray) or not is_real(value) or value.ndim == 0:
        return value
    made = value.copy()
    half = value.shape[-1] // 2
    if half:
        made[..., -half:] = value[..., :half]
    return made


def _with_argument(given: Arguments, place: int, value: Array | JsonValue) -> Arguments:
    return (*given[:place], value, *given[place + 1 :])


def _are_same(one: Arguments, other: Arguments) -> bool:
    pairs = zip(one, other, strict=True)
    return all(np.array_equal(a, b) for a, b in pairs if isinstance(a, np.ndarray))
