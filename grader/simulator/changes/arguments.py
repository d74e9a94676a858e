"""Alternative values for a launch's arguments: another argument, a tensor, a size, a number computed from one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement, permutations

from grader.records import JsonValue
from grader.records.changes import (
    GRID,
    OtherArgument,
    Passed,
    PassedArgument,
    PassedNumber,
    PassedSize,
    PassedTensor,
)
from grader.simulator import fields
from grader.simulator.changes.change import Change, Given
from grader.simulator.changes.forms import float_bits, float_of
from grader.simulator.changes.values import Values
from grader.simulator.ptx.code import Code

OWN = (1 << 64) - 1
"""In place of the source launch: the value itself is given."""
MOST_LAUNCHES = 8
MOST_BLOCKS = 1 << 12
MOST_DIMS = 4
_ADDRESS = 8
LOG2_E = 1.4426950408889634
Functions = Mapping[str, Callable[[float], float]]
OF_FLOAT: Functions = {
    "1 / x": lambda x: 1 / x,
    "sqrt(x)": math.sqrt,
    "1 / sqrt(x)": lambda x: 1 / math.sqrt(x),
    "x * x": lambda x: x * x,
    "1 - x": lambda x: 1 - x,
    "x * log2(e)": lambda x: x * LOG2_E,
    "x * ln(2)": lambda x: x / LOG2_E,
}
"""Corrections of a passed number."""
SIMPLE: Functions = {"-x": lambda x: -x, "2 * x": lambda x: 2 * x, "x / 2": lambda x: x / 2}
"""Corrections that belong as often into the kernel."""
OF_NUMBER: Functions = {
    "x": lambda x: x,
    "1 / x": lambda x: 1 / x,
    "sqrt(x)": math.sqrt,
    "1 / sqrt(x)": lambda x: 1 / math.sqrt(x),
    "log2(e) / sqrt(x)": lambda x: LOG2_E / math.sqrt(x),
    "1 - x": lambda x: 1 - x,
    "1 / (1 - x)": lambda x: 1 / (1 - x),
}
"""Numbers computed from a number of the task, or from a size."""


@dataclass(frozen=True)
class Launched:
    """One launch of a call of forward."""

    kernel: str
    sizes: tuple[int, ...]
    values: tuple[int, ...]
    memory: tuple[int, ...]
    """For each argument the known tensor that begins there, -1 for other GPU memory, -2 for no GPU memory."""
    blocks: tuple[int, int, int]

    @property
    def pointers(self) -> list[int]:
        """Return the arguments that are memory."""
        return [n for n, size in enumerate(self.sizes) if size == _ADDRESS and self.memory[n] > -2]


@dataclass(frozen=True)
class Known:
    """An input or weight."""

    name: str
    shape: tuple[int, ...]


def read_launches(told: JsonValue) -> tuple[Launched, ...]:
    """Return the launches that a guest reports."""
    found = fields.entries(fields.as_mapping(told).get("launches"), MOST_LAUNCHES)
    return tuple(map(_read_launch, found))


def _read_launch(one: dict[str, JsonValue]) -> Launched:
    sizes, values = (tuple(map(fields.count, _list(one[name]))) for name in ("sizes", "values"))
    memory = tuple(int(n) if isinstance(n, int) else -2 for n in _list(one.get("memory")))
    short = min(len(sizes), len(values), len(memory))
    name = fields.text(one.get("kernel"), 4000)
    return Launched(
        name, sizes[:short], values[:short], memory[:short], fields.triple(one.get("blocks"))
    )


def _list(value: JsonValue) -> list[JsonValue]:
    return value[:200] if isinstance(value, list) else []


def read_tensors(told: JsonValue) -> tuple[Known, ...]:
    """Return the inputs and weights that a guest reports, in its order."""
    found = fields.entries(fields.as_mapping(told).get("tensors"), 64)
    return tuple(
        Known(
            fields.text(one.get("name"), 200),
            tuple(map(fields.count, _list(one.get("shape"))))[:8],
        )
        for one in found
    )


def argument_changes(
    told: JsonValue, floats: frozenset[tuple[str, int]], numbers: Mapping[str, float]
) -> Iterator[Change]:
    """Yield alternative arguments for the launches of a call.

    `floats` are the kernels' float arguments, `numbers` the task's numbers.
    """
    launches, tensors = read_launches(told), read_tensors(told)
    sizes = sizes_of(tensors)
    for number, launch in enumerate(launches):
        yield from _Exchange(number, launches, tensors).changes()
        for n, size in enumerate(launch.sizes):
            if n in launch.pointers:
                continue
            if size == 4 and (launch.kernel, n) in floats:
                yield from _floats(number, launch, n, numbers, sizes)
            elif size in (4, 8):
                yield from _ints(number, launch, n, sizes)
        yield from _grids(number, launch, sizes)


def float_arguments(codes: Sequence[Code | None]) -> frozenset[tuple[str, int]]:
    """Return the arguments that kernels take as floats of 32 bits."""
    found = set()
    for code in codes:
        for function in code.functions if code else ():
            if code and function.entry:
                values = Values(code, function)
                found |= {(function.name, n) for n in values.float_arguments}
    return frozenset(found)


def sizes_of(tensors: Sequence[Known]) -> dict[PassedSize, int]:
    """Return the sizes of tensors, and the products of sizes of dims that follow each other."""
    return {
        PassedSize(tensor.name, i, j): math.prod(tensor.shape[i : j + 1])
        for tensor in tensors
        for i, j in combinations_with_replacement(range(len(tensor.shape)), 2)
    }


def _change(
    number: int,
    launch: Launched,
    what: Sequence[int],
    after: Passed,
    given: Sequence[Given],
    prior: int,
) -> Change:
    """Return what a launch could get for a parameter, or for two of them what each other gets."""
    other = OtherArgument(tuple(what), after)
    return Change(launch.kernel, number, other, 0, 0, (), prior, tuple(given))


def _value(number: int, n: int, value: int) -> Given:
    return (number, n, OWN, 0, value)


@dataclass(frozen=True)
class _Exchange:
    """A launch whose arguments are replaced: by others of it, of earlier launches, or by known tensors."""

    number: int
    launches: Sequence[Launched]
    tensors: Sequence[Known]

    def changes(self) -> Iterator[Change]:
        launch = self.launches[self.number]
        pointers = launch.pointers
        others = [n for n, size in enumerate(launch.sizes) if n not in pointers and size in (4, 8)]
        for alike in (pointers, others):
            for a, b in combinations(alike, 2):
                if launch.values[a] != launch.values[b] and launch.sizes[a] == launch.sizes[b]:
                    both = (self._take_from(a, self.number, b), self._take_from(b, self.number, a))
                    yield self._exchange((a, b), PassedArgument(b), both, 0)
            for a, b in permutations(alike, 2):
                if launch.values[a] != launch.values[b] and launch.sizes[a] == launch.sizes[b]:
                    taken = (self._take_from(a, self.number, b),)
                    prior = 0 if alike is pointers else 1
                    yield self._exchange((a,), PassedArgument(b), taken, prior)
        for n in pointers:
            yield from self._of_other_launches(launch, n)
            yield from self._known_tensors(launch, n)

    def _exchange(
        self, what: Sequence[int], after: Passed, given: Sequence[Given], prior: int
    ) -> Change:
        return _change(self.number, self.launches[self.number], what, after, given, prior)

    def _take_from(self, n: int, launch: int, other: int) -> Given:
        return (self.number, n, launch, other, 0)

    def _of_other_launches(self, launch: Launched, n: int) -> Iterator[Change]:
        for earlier in range(self.number):
            other = self.launches[earlier]
            for m in other.pointers:
                if other.memory[m] == -1 and other.values[m] not in launch.values:
                    passed = PassedArgument(m, launch=earlier)
                    yield self._exchange((n,), passed, (self._take_from(n, earlier, m),), 0)

    def _known_tensors(self, launch: Launched, n: int) -> Iterator[Change]:
        own = launch.memory[n]
        for at, tensor in enumerate(self.tensors):
            dims = tuple(range(len(tensor.shape)))
            if at != own:
                passed = PassedTensor(tensor.name)
                yield self._exchange((n,), passed, (self._laid_out(n, at, dims),), 0)
            if own not in (-1, at) or len(dims) > MOST_DIMS:
                continue
            for a, b in combinations(dims, 2):
                order = tuple({a: b, b: a}.get(dim, dim) for dim in dims)
                laid_out = (self._laid_out(n, at, order),)
                turned = PassedTensor(tensor.name, (a, b))
                yield self._exchange((n,), turned, laid_out, 0 if own == -1 else 1)

    def _laid_out(self, n: int, tensor: int, order: tuple[int, ...]) -> Given:
        return (self.number, n, OWN, 0, (tensor, *order))


def _ints(
    number: int, launch: Launched, n: int, sizes: Mapping[PassedSize, int]
) -> Iterator[Change]:
    own = launch.values[n]
    for size, value in sizes.items():
        if value != own:
            given = (_value(number, n, value),)
            yield _change(number, launch, (n,), size, given, 1)
            yield from _with_fewer_blocks(number, launch, n, size, value)
    others = {"x + 1": own + 1, "x - 1": own - 1, "2 * x": 2 * own, "x // 2": own // 2}
    for formula, value in others.items():
        given = (_value(number, n, value),)
        yield _change(number, launch, (n,), PassedNumber(formula), given, 3)


def _with_fewer_blocks(
    number: int, launch: Launched, n: int, size: PassedSize, value: int
) -> Iterator[Change]:
    """Yield a larger size with correspondingly fewer blocks, since host code divides by the size that it passes."""
    own = launch.values[n]
    for axis, blocks in enumerate(launch.blocks):
        if 0 < own < value and blocks > 1 and blocks * own % value == 0:
            given = (
                _value(number, n, value),
                _value(number, GRID + axis, blocks * own // value),
            )
            yield _change(number, launch, (n,), size, given, 1)


def _floats(
    number: int,
    launch: Launched,
    n: int,
    numbers: Mapping[str, float],
    sizes: Mapping[PassedSize, int],
) -> Iterator[Change]:
    own = float_of(launch.values[n])
    known: tuple[tuple[Mapping[str, float] | Mapping[PassedSize, int], Functions, int], ...] = (
        ({"": own}, OF_FLOAT, 0),
        (numbers, OF_NUMBER, 0),
        ({"": own}, SIMPLE, 2),
        (sizes, OF_NUMBER, 2),
    )
    for given, functions, prior in known:
        for of, x in given.items():
            for formula, function in functions.items():
                value = _apply_formula(function, x)
                if value is not None and value != own:
                    bits = (_value(number, n, float_bits(value)),)
                    yield _change(number, launch, (n,), PassedNumber(formula, of), bits, prior)


def _apply_formula(function: Callable[[float], float], x: float) -> float | None:
    try:
        value = function(x)
    except (ValueError, ArithmeticError):
        return None
    return value if abs(value) < 3e38 else None


def _grids(number: int, launch: Launched, sizes: Mapping[PassedSize, int]) -> Iterator[Change]:
    for a, b in combinations(range(3), 2):
        if launch.blocks[a] != launch.blocks[b]:
            both = [(number, GRID + p, number, GRID + q, 0) for p, q in ((a, b), (b, a))]
            exchanged = PassedArgument(GRID + b)
            yield _change(number, launch, (GRID + a, GRID + b), exchanged, both, 0)
    for axis, own in enumerate(launch.blocks):
        others = max(math.prod(launch.blocks) // max(own, 1), 1)
        larger: list[tuple[Passed, int]] = [(PassedNumber("2 * x"), 2 * own), *sizes.items()]
        for passed, value in larger:
            if own < value <= MOST_BLOCKS // others:
                given = (_value(number, GRID + axis, value),)
                yield _change(number, launch, (GRID + axis,), passed, given, 2)
