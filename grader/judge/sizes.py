"""The choice of sizes for workloads, among those that a problem runs at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from grader.judge.facts import Facts, first_dim
from grader.judge.relations import relations_lost
from grader.tasks.scale import LONG

SMALL: Mapping[str, int] = {
    "size": 200_000,
    "elements": 4_000_000,
    "flops": 12_000_000,
    "weights": 4_000_000,
}
"""Limits for a run of seconds on the CPU simulator: elements of the inputs, elements of the results of all operators of
the reference, floating-point operations of its products, elements of its weights."""
WORK = ("size", "elements", "flops")
"""Quantities that determine the time of a run."""
MOST: Mapping[str, int] = {
    "size": 500_000,
    "elements": 100_000_000,
    "flops": 16_000_000_000,
    "weights": 40_000_000,
}
"""The same limits where no smaller size exists: torch's own operators then run on a CPU."""
HUGE: Mapping[str, int] = {
    "size": 500_000,
    "elements": 200_000_000,
    "flops": 100_000_000_000,
    "weights": 200_000_000,
}
"""The same limits where even those are exceeded: a network for large images whose layers fix their size (VGG's
classifier). torch computes it in seconds, a kernel of the submission's own in minutes: one workload is made of it."""
KEPT = 4_000_000
"""Most elements of the inputs where sizes stay unchanged because an answer hard-codes them and is wrong at others."""
NEAR = 2.5
"""Where no size is small, one that costs at most this many times the cheapest is as good as the cheapest."""
ENOUGH = 2048
"""Inputs with fewer elements than this show little: where all cheap sizes are so small, NEAR counts as cheap."""
FEW = 16
"""A norm over fewer values hides its inputs: two always become +1 and -1. Norms over ten in many layers reduce float32
to the digits of half precision."""
WORTH = 10.0
"""More values for such a norm may cost this many times the least."""
REGULAR = frozenset({"spatial", "all"})
"""Kinds of size that may represent the full one."""
LOW = "low"
"""The kind that represents it where there is none of these."""


@dataclass(frozen=True)
class Size:
    """One variant that the reference ran on."""

    kind: str
    batch: int
    fact: Facts
    share: float = 1.0
    """Share of the simulator's limits: less for a program that does far more work than the reference."""
    kept: bool = False
    """Whether sizes stayed unchanged because an answer hard-codes them."""
    lost: int = 0
    """Penalty for relations between the full size's numbers that are lost here."""

    @property
    def elements(self) -> int:
        """Return its input elements."""
        return int(self.fact["size"])

    @property
    def cost(self) -> float:
        """Return its cost as a multiple of what the simulator runs in seconds."""
        work = max(int(self.fact[name]) / SMALL[name] for name in WORK)
        return max(work / self.share, int(self.fact["weights"]) / SMALL["weights"])

    @property
    def regular(self) -> bool:
        """Whether it may represent the full size."""
        return self.kind in REGULAR

    @property
    def small(self) -> bool:
        """Whether a simulator runs it in seconds."""
        return self.cost <= 1

    @property
    def thin(self) -> bool:
        """Whether a norm takes its statistics from too few values."""
        return 0 < int(self.fact["fewest"]) < FEW

    @property
    def least_values(self) -> int:
        """Return the fewest values that its norms are over, capped at the number that suffices."""
        return min(int(self.fact["fewest"]) or FEW, FEW)

    def within(self, limits: Mapping[str, int]) -> bool:
        """Whether it costs no more than these limits."""
        return all(self.fact[name] <= limit for name, limit in limits.items())

    @property
    def usable(self) -> bool:
        """Whether it may be run at all."""
        return self.within({**HUGE, "size": KEPT} if self.kept else HUGE)


@dataclass(frozen=True)
class Chosen:
    """The chosen sizes of workloads."""

    nominal: tuple[Facts, ...]
    stressed: Facts
    """The size for workloads of other values."""
    odd: tuple[Size, ...]
    single: Facts | None
    """A batch of one."""
    huge: bool = False
    """Whether a run takes so long that there is only one workload."""


def choose(sizes: Sequence[Size], full: Facts | None) -> Chosen | None:
    """Return the sizes to use; None where a CPU can run none of them.

    `full` is the problem's own size, where known.
    """
    if full is None:
        return _choose_sizes(sizes, full)
    return _choose_sizes(
        [replace(s, lost=relations_lost(s.fact, full)) for s in fitting_sizes(sizes, full)], full
    )


def _choose_sizes(sizes: Sequence[Size], full: Facts | None) -> Chosen | None:
    small = [size for size in sizes if size.small]
    regular = _regular(sizes, small)
    if not regular:
        return None
    first = regular[0]
    more = (size for size in regular if size.batch > max(first.batch, 8))
    second = next((size for size in more if size.fact["init"] == first.fact["init"]), None)
    nominal = [first.fact] if second is None else [first.fact, second.fact]
    long = (size for size in small if size.kind == "long")
    for size in sorted(long, key=lambda size: -size.batch):
        if full is not None and _reaches(size.fact, full, nominal):
            nominal.append(size.fact)
    whole = (s.fact for s in sizes if s.kind == "whole" and s.cost <= NEAR)
    nominal += [fact for fact in whole if fact not in nominal]
    return Chosen(
        nominal=tuple(nominal),
        stressed=(second or first).fact,
        odd=tuple(_spread([size for size in small if size.kind == "odd"])),
        single=next((size.fact for size in regular if first_dim(size.fact) == 1), None),
        huge=not first.within(MOST),
    )


def fitting_sizes(sizes: Sequence[Size], full: Facts) -> list[Size]:
    """Return the sizes at which inputs with matching dims at full size still match.

    Dims are matched from the last one on, as broadcasting does: (N, M) and (M,) stay so where N and
    M are the same number, though a smaller batch would change only N.
    """
    return strictly_fitting(sizes, full) or list(sizes)


def strictly_fitting(sizes: Sequence[Size], full: Facts) -> list[Size]:
    """Return the sizes that keep all matches; all of them if none does."""
    return [size for size in sizes if _matches(full) <= _matches(size.fact)]


def _matches(fact: Facts) -> set[tuple[int, int, int]]:
    """Return the dims, counted from the last, that have the same length in two inputs."""
    shapes = [(i, item["shape"][::-1]) for i, item in enumerate(fact["inputs"]) if "shape" in item]
    return {
        (i, j, dim)
        for (i, first), (j, second) in combinations(shapes, 2)
        for dim, (n, m) in enumerate(zip(first, second, strict=False))
        if n == m
    }


def _regular(sizes: Sequence[Size], small: Sequence[Size]) -> list[Size]:
    """Return the sizes that may represent the full one, the best first."""
    cheap = [size for size in small if size.kind in REGULAR]
    if cheap:
        more = (*_pairs(sizes, cheap), *_fuller(sizes, cheap), *_thicker(sizes, cheap))
        return sorted([*cheap, *more], key=_preference)
    usable = [size for size in sizes if size.kind in REGULAR and size.usable]
    usable = usable or [size for size in sizes if size.kind == LOW and size.usable]
    large = [size for size in usable if size.within(MOST)] or usable
    most = NEAR * min((size.cost for size in large), default=0.0)
    near = [size for size in large if size.cost <= most]
    near += [size for size in _thicker(large, near) if size not in near]
    # Where its weights alone make it costly, a larger image costs nothing more.
    return sorted(
        near,
        key=lambda size: (
            -size.least_values,
            size.lost,
            size.batch == 1,
            size.cost,
            -size.elements,
        ),
    )


def _fuller(sizes: Sequence[Size], cheap: Sequence[Size]) -> list[Size]:
    """Return sizes that cost little more, where the cheap ones have hardly any elements."""
    if any(size.elements >= ENOUGH for size in cheap):
        return []
    return [size for size in sizes if size.kind in REGULAR and 1 < size.cost <= NEAR]


def _thicker(sizes: Sequence[Size], thin: Sequence[Size]) -> list[Size]:
    """Return the smallest size without a norm over few values, else the one with most, where all of `thin` have one."""
    if not all(size.thin for size in thin):
        return []
    most = WORTH * max(1.0, min((size.cost for size in thin), default=0.0))
    least = max((size.least_values for size in thin), default=0)
    affordable = (s for s in sizes if s.kind in REGULAR and s.cost <= most)
    thick = [size for size in affordable if size.least_values > least]
    return sorted(thick, key=lambda size: (-size.least_values, size.batch == 1, size.cost))[:1]


def _pairs(sizes: Sequence[Size], cheap: Sequence[Size]) -> list[Size]:
    """Return batches of two where only a batch of one is cheap with channels kept.

    A batch of one hides a wrong step from image to image.
    """
    spatial = [size for size in cheap if size.kind == "spatial"]
    if not spatial or any(size.batch > 1 for size in spatial):
        return []
    kept = (size for size in sizes if size.kind == "spatial" and size.batch == 2)
    return [size for size in kept if size.cost <= NEAR]


def _reaches(fact: Facts, full: Facts, others: Sequence[Facts]) -> bool:
    """Whether it has a dim of full length that no other size has."""
    return bool(
        _full_dims(fact, full) - set().union(*(_full_dims(other, full) for other in others))
    )


def _full_dims(fact: Facts, full: Facts) -> set[tuple[int, int]]:
    """Return the large dims, except the first, that have their full length."""
    pairs = zip(fact["inputs"], full["inputs"], strict=True)
    return {
        (i, dim)
        for i, (item, whole) in enumerate(pairs)
        if "shape" in item and "shape" in whole
        for dim, (n, m) in enumerate(zip(item["shape"], whole["shape"], strict=False))
        if n == m > LONG and (dim or len(whole["shape"]) == 1)
    }


def _preference(size: Size) -> tuple[float, ...]:
    """Sort key of sizes: norms over many values, kept relations, kept channels, the largest."""
    kept = (size.kind != "spatial", size.batch == 1, -size.elements, size.batch)
    return (size.thin, size.lost, *kept)


def _spread(odd: Sequence[Size]) -> list[Size]:
    """Return a large and a small odd size."""
    ordered = sorted(odd, key=lambda size: size.elements)
    return [ordered[-1], ordered[0]] if len(ordered) > 1 else list(ordered)
