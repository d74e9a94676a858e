"""Smaller and odd-sized variants of a problem file, made by changing its numbers.

KernelBench's problems name their sizes in constants of the module (`batch_size = 112`) or write
them in `get_inputs` and `get_init_inputs`. Equal numbers are changed to equal numbers, so that shapes still fit;
`Model` itself and the module's names that it reads are left unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from grader.tasks.size_numbers import SizeNumber, changeable_numbers, edit_numbers, named_by_place
from grader.tasks.spacing import most_quotient, space_values

FLOOR = 32
"""Numbers up to this (kernel sizes, strides, groups, heads, classes) stay as they are."""
MIDDLE_FLOOR = 16
"""The same limit where all variants so far are too large: half a warp, less than a tile of 32."""
LOW_FLOOR = 8
"""The same limit where less work than usual is wanted."""
SPATIAL_FLOOR = 4
"""Least height, width or length."""
BATCHES = (64, 16, 4, 2, 1)
ODD_BATCH = 3
SHARERS = re.compile(r"(heads?|groups)$", re.IGNORECASE)
"""Names for the number of parts that share a width: heads of attention, groups of a norm."""
FEWEST_SHARERS = 2
SHARES = range(2, 257)
"""Widths that are usually spread over a block's threads: a head's columns, a group's channels."""
LONG_BATCHES = (1, 2)
LONG = 1024
"""A number above this may exceed a limit of a launch: threads in a block, shared memory."""
FACTORS = tuple(2**power for power in range(15, -1, -1))


@dataclass(frozen=True)
class Variant:
    """A problem's text with other numbers."""

    text: str
    batch: int
    factor: int
    """Factor by which the large numbers were divided."""


@dataclass(frozen=True)
class Chain:
    """Variants of one kind, the smallest first."""

    kind: str
    """`spatial` (channels and features kept), `all` (every large number), `odd`, `long`: one large number unchanged and
    all others as small as possible, `low`: smaller than `all`, or `whole`: the text unchanged."""
    variants: tuple[Variant, ...]


@dataclass(frozen=True)
class _Sharing:
    """Heads or groups and the widths that they share: there may be fewer, but each keeps its width."""

    count: int = 0
    widths: frozenset[int] = frozenset()

    def covers(self, number: SizeNumber) -> bool:
        """Whether a number is that of the heads or groups, or a width that they share."""
        named = number.value == self.count and SHARERS.search(number.name) is not None
        return bool(self.widths) and (named or number.value in self.widths)

    def of(self, width: int, fewer: int) -> int:
        """Return the width of this number of heads or groups, each as wide as before."""
        return width // self.count * fewer

    def fewer(self, kind: str, factor: int) -> int:
        """Return the number of heads or groups at a factor of reduction."""
        fewer = max(self.count // factor, FEWEST_SHARERS)
        return min(fewer | 1, self.count) if kind == "odd" else fewer

    def rising(self, kind: str, factor: int) -> Iterator[int]:
        """Yield that number and larger ones, up to the original number."""
        number = self.fewer(kind, factor)
        while number < self.count:
            yield number
            number = 2 * number + 1 if kind == "odd" else 2 * number
        yield self.count


@dataclass(frozen=True)
class _Way:
    """A way to make the numbers of a text smaller."""

    kind: str
    batch: int
    floor: int = FLOOR
    sharing: _Sharing = _Sharing()
    fixed: frozenset[int] = frozenset()
    """Numbers that stay, to which the others keep their ratios."""


def floor_at(share: float) -> int:
    """Return the largest number that stays unchanged, at a share of the usual work."""
    return FLOOR if share >= 1 else LOW_FLOOR


def sizes_of(text: str, floor: int = FLOOR, *, batches: bool = True) -> frozenset[int]:
    """Return the numbers of a text that its variants change, optionally without batches; none for a text that is not Python."""
    found = [n for n in changeable_numbers(text) or () if batches or not n.batch]
    return frozenset(n.value for n in found if n.value > (SPATIAL_FLOOR if n.spatial else floor))


def chains(text: str, kept: frozenset[int] = frozenset(), floor: int = FLOOR) -> tuple[Chain, ...]:
    """Return smaller and odd-sized variants of a text; none for a text that is not Python.

    `kept` are numbers that stay unchanged, except in odd-sized variants; numbers up to `floor` stay too.
    """
    found = changeable_numbers(text)
    if found is None:
        return ()
    if kept:
        return _around(text, found, kept, floor)
    numbers = found
    named = any(number.batch for number in numbers)
    batches = BATCHES if named else BATCHES[-1:]
    sharing = _find_sharing(numbers)
    made = [
        Chain(kind, tuple(_chain(text, numbers, _Way(kind, batch, floor, sharing))))
        for kind in ("spatial", "all")
        for batch in batches
    ]
    made += [Chain("long", variants) for variants in _long(text, numbers, sharing)]
    placed = named_by_place(text, numbers, FLOOR)
    odd = _Way("odd", ODD_BATCH, sharing=sharing)
    made.append(Chain("odd", tuple(_chain(text, placed, odd))))
    low = _Way("all", batches[-2:][0], MIDDLE_FLOOR, sharing)
    made.append(Chain("low", tuple(_chain(text, numbers, low))))
    if placed != numbers:
        made.append(Chain("low", tuple(_chain(text, placed, replace(low, batch=BATCHES[2])))))
    return (*made, Chain("whole", (Variant(text, batches[0], 1),)))


def _around(
    text: str, numbers: tuple[SizeNumber, ...], kept: frozenset[int], floor: int
) -> tuple[Chain, ...]:
    """Return the variants in which some numbers stay; and the odd ones.

    At first the others keep their relation to these: divisors stay divisors, with a quotient above one. Where that is
    too large, the others become small independently.
    """
    free = tuple(number for number in numbers if number.value not in kept)
    made = [
        Chain(kind, tuple(_chain(text, free, _Way(kind, batch, floor, fixed=fixed))))
        for fixed in (kept, frozenset[int]())
        for kind in ("spatial", "all")
        for batch in BATCHES
    ]
    odd = _Way("odd", ODD_BATCH, sharing=_find_sharing(numbers))
    return (*made, Chain("odd", tuple(_chain(text, numbers, odd))))


def _find_sharing(numbers: tuple[SizeNumber, ...]) -> _Sharing:
    """Return the heads or groups that share a width; None where the text names none, or several numbers of them."""
    named = {n.value for n in numbers if SHARERS.search(n.name) and n.value >= FEWEST_SHARERS}
    if len(named) != 1:
        return _Sharing()
    count = named.pop()
    large = (n for n in numbers if n.value > FLOOR and n.name and not n.batch)
    widths = (n.value for n in large if not n.spatial and n.value % count == 0)
    return _Sharing(count, frozenset(width for width in widths if width // count in SHARES))


def _long(
    text: str, numbers: tuple[SizeNumber, ...], sharing: _Sharing
) -> Iterator[tuple[Variant, ...]]:
    """Yield for each large number texts with that number kept, for each batch.

    A kernel with one thread for each element of a row is right on short rows only.
    """
    large = {n.value: n for n in numbers if n.value > LONG and not n.batch}
    for kept in large.values():
        yield tuple(_with_one_kept(text, numbers, kept, batch, sharing) for batch in LONG_BATCHES)


def _with_one_kept(
    text: str, numbers: tuple[SizeNumber, ...], kept: SizeNumber, batch: int, sharing: _Sharing
) -> Variant:
    kind = "spatial" if kept.spatial else "all"
    shared = kept.value in sharing.widths

    def stays(number: SizeNumber) -> bool:
        same = number.value == kept.value and not number.batch
        return same or (shared and sharing.covers(number))

    free = tuple(number for number in numbers if not stays(number))
    change = _plan(free, _Way(kind, batch, sharing=sharing), FACTORS[0])
    return Variant(edit_numbers(text, free, change), batch, FACTORS[0])


def _chain(text: str, numbers: tuple[SizeNumber, ...], way: _Way) -> Iterator[Variant]:
    seen = set()
    for factor in FACTORS:
        made = edit_numbers(text, numbers, _plan(numbers, way, factor))
        if made not in seen:
            yield Variant(made, way.batch, factor)
        seen.add(made)


def _plan(numbers: tuple[SizeNumber, ...], way: _Way, factor: int) -> Callable[[SizeNumber], int]:
    """Return the new value of each number: numbers of one kind keep their order and their ratios."""
    free = [number for number in numbers if not number.batch]
    lengths = {n.value for n in free if n.spatial}
    spatial = _space_values(lengths, way, factor, SPATIAL_FLOOR, close=factor == FACTORS[0])
    fewer, others = _features([n for n in free if not n.spatial], way, factor)

    def change(number: SizeNumber) -> int:
        if number.batch:
            return min(number.value, way.batch)
        if number.spatial:
            return spatial[number.value]
        if way.kind == "spatial":
            return number.value
        if way.sharing.covers(number):
            return number.value // way.sharing.count * fewer
        return others[number.value]

    return change


def _features(
    numbers: Sequence[SizeNumber], way: _Way, factor: int
) -> tuple[int, Mapping[int, int]]:
    """Return the number of heads or groups, and the new value of each number that they don't share.

    A number inside a function that belongs to no constant is mostly an image's size, and is changed separately.
    """
    named = {number.value for number in numbers if number.name}
    own = {number.value for number in numbers} - named if named else set()
    apart = _space_values(own, way, factor, way.floor)
    fewer, others = _scale_named([n for n in numbers if n.value not in own], way, factor)
    return fewer, {**others, **apart}


def _scale_named(
    numbers: Sequence[SizeNumber], way: _Way, factor: int
) -> tuple[int, Mapping[int, int]]:
    sharing = way.sharing
    covered = {n.value for n in numbers if sharing.covers(n)} - {sharing.count}
    free = {n.value for n in numbers if not sharing.covers(n)} - covered
    alone = _space_values(free, way, factor, way.floor)
    if not covered:
        return sharing.fewer(way.kind, factor), alone
    fewer = next(
        some
        for some in sharing.rising(way.kind, factor)
        if some == sharing.count
        or all(sharing.of(v, some) > alone[u] for v in covered for u in free if u < v)
    )
    fixed = {value: sharing.of(value, fewer) for value in covered}
    return fewer, _space_values(free, way, factor, way.floor, fixed)


def _space_values(
    values: Collection[int],
    way: _Way,
    factor: int,
    floor: int,
    fixed: Mapping[int, int] | None = None,
    *,
    close: bool = False,
) -> dict[int, int]:
    odd = way.kind == "odd"
    stay = {value: value for value in way.fixed} | dict(fixed or {})

    def smaller(value: int) -> int:
        made = divide_size(value, factor, floor)
        return made | 1 if odd and value > FLOOR else made

    small = {value: value for value in values if value <= floor}
    return space_values(values, smaller, most_quotient(factor), stay | small, odd=odd, close=close)


def divide_size(value: int, factor: int, floor: int) -> int:
    """Return a smaller number of the same kind: a power of two, a multiple of 32, or neither.

    No result is below `floor`, and smaller numbers don't change.
    """
    if factor == 1 or value <= floor:
        return value
    smaller = max(value // factor, floor)
    if value & (value - 1) == 0:
        return 1 << (smaller.bit_length() - 1)
    if value % 32 == 0:
        return (
            max(smaller - smaller % 32, 32) if smaller > 32 else max(smaller - smaller % 4, floor)
        )
    return smaller | 1
