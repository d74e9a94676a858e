"""The first rows of a full-size workload, for a simulator that can't run the whole.

An operator whose rows (of the first dim) don't depend on each other gives, on the first rows of its
inputs, the first rows of its result. The reference shows whether a task's operator is of this kind.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import TypeVar

import numpy as np

from grader.errors import GraderError
from grader.execution.audit import constant
from grader.execution.reference import Inputs, reference
from grader.execution.stored_references import store_references, stored_references
from grader.judge.compare import equal_values
from grader.judge.elements import root_mean_square, wrong_elements
from grader.judge.expected import References
from grader.judge.inputs import Array, make_inputs
from grader.judge.side_effects import SATURATED, probe
from grader.judge.tolerance import tolerance
from grader.records import Evidence, JsonValue, Task, TensorSpec, Workload, digest
from grader.sandbox import Form, Limits
from grader.store import Store

Known = TypeVar("Known")

MOST_ROWS = 32
PART = 1 << 20
"""Most elements of all inputs' first rows together, if one row fits."""
ROW = 1 << 22
WHOLE = 1 << 24
"""Most elements of inputs that can't be cut, such as weights passed as arguments."""
SECONDS = 60.0
"""Time limit of each run of the reference, including its start on a busy machine."""
ROOM = 2 << 30
"""Memory limit of the reference in bytes: larger full-size weights take minutes to make and to send."""
OTHER, NEXT = "twice the rows", "the rows after them"
DEPENDENT, ALONE, ANYWHERE = "dependent", "alone", "anywhere"
"""How rows depend on each other, as stored from the two runs that test it."""


@dataclass(frozen=True)
class FullSizePart:
    """The first rows of a full-size workload, and their expected result."""

    workload: Workload
    """With the shapes of the part."""
    full: Workload
    cut: frozenset[int]
    """Positions of the inputs that are cut to their first rows."""
    rows: int
    references: References
    anywhere: bool = False
    """Whether the reference gives the same result on these rows at any position among others."""


@dataclass(frozen=True)
class Asking:
    """Runs a reference on a part, and stores its results."""

    seed: int
    form: Form
    limits: Limits
    store: Store
    key: str
    """Digest of everything but the workload that a result depends on."""

    def answers(self, task: Task, workloads: tuple[Workload, ...], inputs: Inputs) -> References:
        """Return the reference's results, the first of them in float64 too; raises GraderError where it can't be run."""
        sharp = {workloads[0].name}
        return reference(
            task,
            workloads,
            self.seed,
            self.form,
            self.limits,
            inputs=inputs,
            sharp=sharp,
            want_weights=False,
        )

    def stored_rows(self, key: str) -> str:
        """Return how rows depend on each other; "" where not tested yet."""
        return (self.store.read("rows", key) or b"").decode()

    def stored_part(self, task: Task, key: str, inputs: Inputs) -> References | None:
        """Return the reference's result on a part alone, if stored."""
        return stored_references(self.store, key, task, self.seed, inputs)

    def store_rows(self, key: str, rows: str, known: References) -> None:
        """Store how rows depend on each other, and the reference's result on a part where they don't."""
        self.store.write("rows", key, rows.encode())
        if rows != DEPENDENT:
            store_references(self.store, key, known)


def full_size_part(task: Task, asking: Asking) -> FullSizePart | None:
    """Return the part of the task's full-size workload; None if there is none that is small.

    Also None where the reference can't be run on it in time: nothing hangs on this look alone.
    """
    limits = replace(asking.limits, wall=SECONDS, memory=min(asking.limits.memory, ROOM))
    asking = replace(asking, limits=limits)
    full = task.full
    if full is None or full.backward or not all(map(_plain, full.inputs)):
        return None
    for cut in _cuts(full):
        rows = _rows(full, cut)
        if rows and (found := _ask_for_part(task, full, cut, rows, asking)):
            return found
    return None


def saturation(task: Task, part: FullSizePart) -> tuple[Evidence, ...]:
    """Return evidence that a constant passes at full size, if it does."""
    (native,) = part.references.expected[part.workload.name].native
    if not equal_values(task, part.workload, part.references, (constant(native),)):
        return ()
    text = f"at the task's own size ({part.full.name.removesuffix(' full')}) the result is nearly a constant: an error at this size may not show there"
    return (probe(SATURATED, text, part.full.name),)


def _plain(item: TensorSpec | JsonValue) -> bool:
    return not isinstance(item, TensorSpec) or (item.contiguous and item.structure == "none")


def _cuts(full: Workload) -> Iterator[frozenset[int]]:
    """Yield the choices of inputs to cut: all with as many rows as the first, then it alone."""
    tensors = {i: item for i, item in enumerate(full.inputs) if isinstance(item, TensorSpec)}
    first = next(iter(tensors), None)
    if first is None or not tensors[first].shape:
        return
    alike = frozenset(i for i, t in tensors.items() if t.shape[:1] == tensors[first].shape[:1])
    yield alike
    if alike != {first}:
        yield frozenset({first})


def _rows(full: Workload, cut: frozenset[int]) -> int:
    """Return the number of rows to take; 0 where even one is too much."""
    tensors = {i: item for i, item in enumerate(full.inputs) if isinstance(item, TensorSpec)}
    row = sum(prod(tensors[i].shape[1:]) for i in cut)
    whole = sum(prod(item.shape) for i, item in tensors.items() if i not in cut)
    available = tensors[min(cut)].shape[0]
    if row > ROW or whole > WHOLE or available < 2:
        return 0
    return max(1, min(MOST_ROWS, PART // max(row, 1), available // 2))


def _ask_for_part(
    task: Task,
    full: Workload,
    cut: frozenset[int],
    rows: int,
    asking: Asking,
) -> FullSizePart | None:
    """Return the part where the reference shows that rows don't depend on each other."""
    more = _with_rows(full, cut, 2 * rows, OTHER)
    part, after = (_with_rows(full, cut, rows, name) for name in (full.name, NEXT))
    drawn = make_inputs(task, more, asking.seed)
    first = {part.name: tuple(_some(drawn, cut, slice(rows)))}
    rest = {more.name: drawn, after.name: tuple(_some(drawn, cut, slice(rows, None)))}
    key = digest(asking.key, part.model_dump_json(), more.model_dump_json())
    how = asking.stored_rows(key)
    known = asking.stored_part(task, key, first) if how in {ALONE, ANYWHERE} else None
    try:
        if not how:
            whole = asking.answers(task, (part, more, after), {**first, **rest})
            how, known = _dependence(task, part, whole, rows), _of_part(whole, part)
            if not _reference_failed(whole, part.name, more.name) or _never_fits(
                whole, part, asking
            ):
                asking.store_rows(key, how, known)
        elif known is None and how != DEPENDENT:
            known = asking.answers(task, (part,), first)
    except GraderError:
        return None
    if known is None or how == DEPENDENT or _reference_failed(known, part.name):
        return None
    return FullSizePart(part, full, cut, rows, known, how == ANYWHERE)


def _reference_failed(known: References, *names: str) -> bool:
    """Whether the reference failed, perhaps for lack of time."""
    return any(known.expected[name].failure for name in names)


def _never_fits(known: References, part: Workload, asking: Asking) -> bool:
    """Whether the reference's weights never fit into its memory limit."""
    return known.expected[part.name].out_of_memory and asking.limits.memory == ROOM


def _dependence(task: Task, part: Workload, known: References, rows: int) -> str:
    """Return the dependence between rows, from the runs on other rows."""
    if _reference_failed(known, part.name, OTHER):
        return DEPENDENT
    one, two, last = (known.expected[name] for name in (part.name, OTHER, NEXT))
    if len(one.native) != 1 or not one.finite:
        return DEPENDENT
    alone, among = one.native[0], two.native[0]
    if alone.shape[:1] != (rows,) or among.shape != (2 * rows, *alone.shape[1:]):
        return DEPENDENT
    # Of all rows: a single one may be small by chance, and so would its rounding have to be.
    size = max(root_mean_square(rows) for each in (one, two, last) for rows in each.native)
    bound = tolerance(task, part, str(alone.dtype))
    if wrong_elements(alone, among[:rows], bound, size).any():
        return DEPENDENT
    if last.failure or last.native[0].shape != alone.shape:
        return ALONE
    return ALONE if wrong_elements(last.native[0], among[rows:], bound, size).any() else ANYWHERE


def _of_part(known: References, part: Workload) -> References:
    """Return the results on the part alone: the rest is several times as large."""
    names = {part.name}

    def only(some: Mapping[str, Known]) -> dict[str, Known]:
        return {name: one for name, one in some.items() if name in names}

    return replace(
        known,
        expected=only(known.expected),
        states=only(known.states),
        inputs=only(known.inputs),
        initial=only(known.initial),
    )


def _with_rows(full: Workload, cut: frozenset[int], rows: int, name: str) -> Workload:
    inputs = tuple(
        item.model_copy(update={"shape": (rows, *item.shape[1:])})
        if i in cut and isinstance(item, TensorSpec)
        else item
        for i, item in enumerate(full.inputs)
    )
    return full.model_copy(update={"inputs": inputs, "name": name})


def _some(
    drawn: tuple[Array | JsonValue, ...], cut: frozenset[int], rows: slice
) -> Iterator[Array | JsonValue]:
    for i, value in enumerate(drawn):
        yield value[rows] if i in cut and isinstance(value, np.ndarray) else value
