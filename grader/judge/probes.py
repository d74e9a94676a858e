"""Numeric probes: inputs made to distinguish the causes of a wrong result.

The inputs of one wrong workload are changed in one way at a time (one value raised, all doubled, a constant added), and
the submission's response to each change is compared with the reference's. That shows which values are not used, which
elements they affect, and by how much.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from grader.judge.inputs import Array, is_real
from grader.records import Evidence, JsonValue, ProbedInput, Workload

Arguments = tuple[Array | JsonValue, ...]
BASE = "probe base"
AGAIN = "probe again"
"""The same inputs a second time: what a call leaves to the next one shows."""
MOST_ELEMENTS = 2**21
"""Most elements of all inputs of a workload that is probed."""
MOST_INPUTS = 2
NOISE = 2e-4
"""Change, relative to the result's size, that counts as none."""
EXACT = 1e-9
"""The same for a result computed in double precision."""


@dataclass(frozen=True)
class Change:
    """One change of the inputs."""

    name: str
    kind: str
    """`again` (none), `bump`, `double` or `shift`."""
    input: int
    index: tuple[int, ...] = ()


@dataclass(frozen=True)
class Plan:
    """The runs of a probe: copies of a wrong workload with changed inputs."""

    of: str
    """Name of that workload."""
    workloads: tuple[Workload, ...]
    inputs: Mapping[str, Arguments]
    changes: tuple[Change, ...]


def plan(workload: Workload, arguments: Arguments) -> Plan | None:
    """Return the probes of a workload; None where it is too large or takes no real numbers."""
    arrays = [a for a in arguments if isinstance(a, np.ndarray)]
    real = [
        i for i, a in enumerate(arguments) if isinstance(a, np.ndarray) and is_real(a) and a.size
    ]
    if not real or sum(a.size for a in arrays) > MOST_ELEMENTS:
        return None
    inputs: dict[str, Arguments] = {BASE: arguments, AGAIN: arguments}
    changes = []
    for number in real[:MOST_INPUTS]:
        for change, array in _changes_of_input(number, np.asarray(arguments[number])):
            changes.append(change)
            inputs[change.name] = (*arguments[:number], array, *arguments[number + 1 :])
    workloads = tuple(
        workload.model_copy(update={"name": name, "role": "general"}) for name in inputs
    )
    return Plan(workload.name, workloads, inputs, tuple(changes))


def _changes_of_input(number: int, array: Array) -> Iterator[tuple[Change, Array]]:
    scale = float(np.sqrt(np.mean(np.square(array, dtype=np.float64)))) or 1.0
    top = float(np.max(np.abs(array))) or 1.0
    for flat in sorted({0, array.size // 3 + 1, 2 * array.size // 3 + 2, array.size - 1}):
        if flat < array.size:
            index = tuple(int(i) for i in np.unravel_index(flat, array.shape))
            raised = array.copy()
            raised[index] = array.dtype.type(2.0 * top + scale)
            yield Change(f"probe bump {number} {flat}", "bump", number, index), raised
    yield Change(f"probe double {number}", "double", number), array * array.dtype.type(2)
    yield (
        Change(f"probe shift {number}", "shift", number),
        array + array.dtype.type(round(2 * scale + 1)),
    )


def explain(
    planned: Plan,
    exact: Mapping[str, Sequence[Array]],
    actual: Mapping[str, Sequence[Array]],
    workload: str,
) -> tuple[Evidence, ...]:
    """Return the probes' evidence, one sentence for each kind, the most specific first.

    `exact` and `actual` hold the outputs by name of a probe; only the first output is looked at.
    """
    pairs = {
        name: (_first(exact[name]), _first(actual[name]))
        for name in planned.inputs
        if exact.get(name) and actual.get(name)
    }
    base = pairs.get(BASE)
    if base is None or base[0].shape != base[1].shape or not all(_finite(a) for a in base):
        return ()
    known = (Change(AGAIN, "again", 0), *planned.changes)
    answers = [
        _Answer(change, *base, *pairs[change.name])
        for change in known
        if change.name in pairs and all(_finite(a) for a in pairs[change.name])
    ]
    with np.errstate(all="ignore"):
        moving = any(a.wanted.any() or a.seen.any() for a in _of(answers, "again"))
        looks = (_again,) if moving else _LOOKS
        found = [item for look in looks for item in look(answers)]
    return tuple(
        Evidence(
            kind="probe", code=code, text=text, workload=workload, details=ProbedInput(input=number)
        )
        for code, text, number in found
    )


def _first(outputs: Sequence[Array]) -> Array:
    return np.asarray(outputs[0], np.float64)


def _finite(array: Array) -> bool:
    return bool(np.isfinite(array).all())


@dataclass(frozen=True)
class _Answer:
    """Reference and submission, before and after a change."""

    change: Change
    exact_base: Array
    actual_base: Array
    exact: Array
    actual: Array

    @property
    def same_shape(self) -> bool:
        return self.exact.shape == self.actual.shape == self.exact_base.shape

    @property
    def said(self) -> str:
        """The change in words."""
        if self.change.kind == "bump":
            return f"raising input {self.change.input + 1} at {list(self.change.index)}"
        what = "doubling" if self.change.kind == "double" else "adding a constant to"
        return f"{what} input {self.change.input + 1}"

    def mask_of_changes(self, before: Array, after: Array, least: float = NOISE) -> Array:
        """Return a mask of where the change alters an answer."""
        size = float(np.sqrt(np.mean(np.square(before)))) or 1.0
        return np.asarray(np.abs(after - before) > least * (size + np.abs(before)))

    @property
    def wanted(self) -> Array:
        return self.mask_of_changes(self.exact_base, self.exact)

    @property
    def touched(self) -> Array:
        """Return a mask of where the reference changes at all, however little."""
        return self.mask_of_changes(self.exact_base, self.exact, EXACT)

    @property
    def seen(self) -> Array:
        return self.mask_of_changes(self.actual_base, self.actual)


Found = tuple[str, str, int]
"""Code, sentence, and index of the changed input, from 0."""


def _of(answers: Sequence[_Answer], kind: str) -> list[_Answer]:
    return [a for a in answers if a.change.kind == kind and a.same_shape]


def _again(answers: Sequence[_Answer]) -> Iterator[Found]:
    """Report which side gives another result for the same inputs, since changes of the inputs are then no evidence."""
    for answer in _of(answers, "again"):
        wanted, seen = int(answer.wanted.sum()), int(answer.seen.sum())
        same = "called again with the same inputs"
        if wanted and not seen:
            text = (
                f"{same}, the reference gives another result at {wanted} places, this one the same"
            )
            yield "probe-kept", text, 0
        elif seen and not wanted:
            text = f"{same}, it gives another result at {seen} places, the reference the same"
            yield "probe-unsteady", text, 0


def _ignored_inputs(answers: Sequence[_Answer]) -> Iterator[Found]:
    bumps = _of(answers, "bump")
    without = [a for a in bumps if a.wanted.any() and not a.seen.any()]
    if without:
        first = without[0]
        text = (
            f"{first.said} changes {int(first.wanted.sum())} values of the reference's result "
            f"and none of this one ({len(without)} of {len(bumps)} places that were tried)"
        )
        yield "probe-ignored", text, first.change.input


def _displaced_influences(answers: Sequence[_Answer]) -> Iterator[Found]:
    for answer in _of(answers, "bump"):
        wanted, seen = answer.wanted, answer.seen
        apart = (wanted & ~seen) | (seen & ~answer.touched)
        if seen.any() and int(apart.sum()) > 0.1 * int((wanted | seen).sum()):
            text = (
                f"{answer.said} changes {_where(seen)}; in the reference, {_where(answer.touched)}"
            )
            yield "probe-moved", text, answer.change.input
            return


def _where(mask: Array) -> str:
    places = np.argwhere(mask)
    if not len(places):
        return "nothing"
    first = [int(i) for i in places[0]]
    if len(places) == 1:
        return f"the result at {first}"
    return f"{len(places)} values of the result, the first at {first}"


def _degree(answers: Sequence[_Answer]) -> Iterator[Found]:
    for answer in _of(answers, "double"):
        wanted = _ratio(answer.exact_base, answer.exact)
        seen = _ratio(answer.actual_base, answer.actual)
        if wanted is not None and seen is not None and abs(seen - wanted) > 0.03 * abs(wanted):
            text = f"{answer.said} makes the result {seen:.3g} times as large, the reference's {wanted:.3g} times"
            yield "probe-degree", text, answer.change.input
            return


def _ratio(before: Array, after: Array) -> float | None:
    """Return the factor between two results where one holds for nearly all values."""
    size = float(np.sqrt(np.mean(np.square(before))))
    usable = np.abs(before) > 0.05 * size
    if not size or not usable.any():
        return None
    ratios = after[usable] / before[usable]
    low, middle, high = (float(np.quantile(ratios, q)) for q in (0.05, 0.5, 0.95))
    return middle if high - low <= 0.02 * abs(middle) else None


def _shift(answers: Sequence[_Answer]) -> Iterator[Found]:
    for answer in _of(answers, "shift"):
        wanted, seen = bool(answer.wanted.any()), bool(answer.seen.any())
        if seen and not wanted:
            text = f"{answer.said} changes {int(answer.seen.sum())} values of the result, and none of the reference's"
            yield "probe-shift", text, answer.change.input
        elif wanted and not seen:
            text = f"{answer.said} changes the reference's result, and nothing in this one"
            yield "probe-no-shift", text, answer.change.input


def _effect_in_words(factor: float) -> str:
    """Return the effect of a change relative to the right one, in words."""
    if factor < 0:
        return "in the other direction"
    if factor < LITTLE:
        return "and hardly at all"
    if factor > 1 / LITTLE:
        return "and far too much"
    return f"by {factor:.3g} times as much as it should"


LITTLE = 1e-3
"""Share of the right change from which on it is given as a number."""


def _weight(answers: Sequence[_Answer]) -> Iterator[Found]:
    """Report the effect of a raised value where it reaches the right places."""
    for answer in _of(answers, "bump"):
        wanted, seen = answer.wanted, answer.seen
        if not wanted.any() or (wanted != seen).any():
            continue
        by = (answer.actual - answer.actual_base)[wanted] / (answer.exact - answer.exact_base)[
            wanted
        ]
        factor = float(np.median(by))
        if abs(factor - 1) > 0.02:
            text = (
                f"{answer.said} changes the result at the right places, {_effect_in_words(factor)}"
            )
            yield "probe-weight", text, answer.change.input
            return


_LOOKS = (_ignored_inputs, _displaced_influences, _degree, _shift, _weight)
