"""Which of the sizes that a problem runs at its workloads are made of."""

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
"""What a CPU simulator runs in seconds: elements of the inputs, elements that all operators of the
reference make together, floating-point operations of its products, elements of its weights."""
WORK = ("size", "elements", "flops")
"""What a run takes time for."""
MOST: Mapping[str, int] = {
    "size": 500_000,
    "elements": 100_000_000,
    "flops": 16_000_000_000,
    "weights": 40_000_000,
}
"""What is taken where nothing smaller is to be had: torch's own share of it runs on a CPU."""
HUGE: Mapping[str, int] = {
    "size": 500_000,
    "elements": 200_000_000,
    "flops": 100_000_000_000,
    "weights": 200_000_000,
}
"""What is taken where even that is exceeded: a network for large images whose layers fix their size
(VGG's classifier). torch computes it in seconds, a kernel of the submission's own in minutes: one workload is made of it."""
KEPT = 4_000_000
"""Elements of the inputs that are taken where sizes stay as they are because an answer writes them: at others it is not right."""
NEAR = 2.5
"""Where nothing is small, what costs at most this many times the least is as good as the least."""
ENOUGH = 2048
"""Inputs with fewer elements than this show little: where all that is cheap is so, NEAR is cheap."""
FEW = 16
"""A norm over fewer values hides what went into it: two always become +1 and -1. Norms over ten, layer upon layer, leave of float32 no
more than half precision has."""
WORTH = 10.0
"""More values for such a norm may cost this many times the least."""
REGULAR = frozenset({"spatial", "all"})
"""Kinds of size that may stand for the full one."""
LOW = "low"
"""The kind that does where there is none of these."""


@dataclass(frozen=True)
class Size:
    """One variant that the reference ran on."""

    kind: str
    batch: int
    fact: Facts
    share: float = 1.0
    """Of what a simulator runs in seconds: less for a program that does far more than the reference."""
    kept: bool = False
    """Whether sizes stayed as they are because an answer writes them."""
    lost: int = 0
    """How much of what holds between the full size's numbers does not hold here."""

    @property
    def elements(self) -> int:
        """Return its input elements."""
        return int(self.fact["size"])

    @property
    def cost(self) -> float:
        """Return how many times what a simulator runs in seconds it is."""
        work = max(int(self.fact[name]) / SMALL[name] for name in WORK)
        return max(work / self.share, int(self.fact["weights"]) / SMALL["weights"])

    @property
    def regular(self) -> bool:
        """Whether it may stand for the full size."""
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
        """Return over how many values its norms are at least; no more than are enough."""
        return min(int(self.fact["fewest"]) or FEW, FEW)

    def within(self, limits: Mapping[str, int]) -> bool:
        """Whether it costs no more than that."""
        return all(self.fact[name] <= limit for name, limit in limits.items())

    @property
    def usable(self) -> bool:
        """Whether it may be run at all."""
        return self.within({**HUGE, "size": KEPT} if self.kept else HUGE)


@dataclass(frozen=True)
class Chosen:
    """The sizes that workloads are made of."""

    nominal: tuple[Facts, ...]
    stressed: Facts
    """The one that other values are tried at."""
    odd: tuple[Size, ...]
    single: Facts | None
    """A batch of one."""
    huge: bool = False
    """Whether each run of it takes so long that only one is made."""


def choose(sizes: Sequence[Size], full: Facts | None) -> Chosen | None:
    """Return the sizes to use; None where a CPU can run none of them.

    `full` is what the problem itself draws, where that could be had.
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
    """Return the sizes at which inputs that fit together at full size still do.

    Dims are matched from the last one on, as broadcasting does: (N, M) and (M,) stay so where N and
    M are the same number, though a smaller batch would change only N.
    """
    return strictly_fitting(sizes, full) or list(sizes)


def strictly_fitting(sizes: Sequence[Size], full: Facts) -> list[Size]:
    """Return these sizes, as far as there are any."""
    return [size for size in sizes if _matches(full) <= _matches(size.fact)]


def _matches(fact: Facts) -> set[tuple[int, int, int]]:
    """Return which dims, counted from the last, are as long in one input as in another."""
    shapes = [(i, item["shape"][::-1]) for i, item in enumerate(fact["inputs"]) if "shape" in item]
    return {
        (i, j, dim)
        for (i, first), (j, second) in combinations(shapes, 2)
        for dim, (n, m) in enumerate(zip(first, second, strict=False))
        if n == m
    }


def _regular(sizes: Sequence[Size], small: Sequence[Size]) -> list[Size]:
    """Return the sizes that may stand for the full one, the best first."""
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
    """Return what costs little more, where what is cheap has hardly any elements."""
    if any(size.elements >= ENOUGH for size in cheap):
        return []
    return [size for size in sizes if size.kind in REGULAR and 1 < size.cost <= NEAR]


def _thicker(sizes: Sequence[Size], thin: Sequence[Size]) -> list[Size]:
    """Return the least size at which no norm is over few values, or over the most, where all of `thin` have one."""
    if not all(size.thin for size in thin):
        return []
    most = WORTH * max(1.0, min((size.cost for size in thin), default=0.0))
    least = max((size.least_values for size in thin), default=0)
    affordable = (s for s in sizes if s.kind in REGULAR and s.cost <= most)
    thick = [size for size in affordable if size.least_values > least]
    return sorted(thick, key=lambda size: (-size.least_values, size.batch == 1, size.cost))[:1]


def _pairs(sizes: Sequence[Size], cheap: Sequence[Size]) -> list[Size]:
    """Return batches of two where one of one is the most that is cheap with channels kept.

    In a batch of one a wrong step from image to image does not show.
    """
    spatial = [size for size in cheap if size.kind == "spatial"]
    if not spatial or any(size.batch > 1 for size in spatial):
        return []
    kept = (size for size in sizes if size.kind == "spatial" and size.batch == 2)
    return [size for size in kept if size.cost <= NEAR]


def _reaches(fact: Facts, full: Facts, others: Sequence[Facts]) -> bool:
    """Whether a dim is as long as at full size that in no other size is."""
    return bool(
        _full_dims(fact, full) - set().union(*(_full_dims(other, full) for other in others))
    )


def _full_dims(fact: Facts, full: Facts) -> set[tuple[int, int]]:
    """Return the large dims, but the first, that are as long as at full size."""
    pairs = zip(fact["inputs"], full["inputs"], strict=True)
    return {
        (i, dim)
        for i, (item, whole) in enumerate(pairs)
        if "shape" in item and "shape" in whole
        for dim, (n, m) in enumerate(zip(item["shape"], whole["shape"], strict=False))
        if n == m > LONG and (dim or len(whole["shape"]) == 1)
    }


def _preference(size: Size) -> tuple[float, ...]:
    """Order sizes: norms over many values, numbers as they were to one another, channels kept, the largest."""
    kept = (size.kind != "spatial", size.batch == 1, -size.elements, size.batch)
    return (size.thin, size.lost, *kept)


def _spread(odd: Sequence[Size]) -> list[Size]:
    """Return a large and a small one of the odd sizes."""
    ordered = sorted(odd, key=lambda size: size.elements)
    return [ordered[-1], ordered[0]] if len(ordered) > 1 else list(ordered)
