"""The sizes that a problem's reference ran at, and the workloads made at some of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from grader.judge.facts import Facts, check_fact, inputs_of, is_whole, reduction_length
from grader.judge.sizes import Chosen, Size, choose, fitting_sizes, strictly_fitting
from grader.judge.workloads import Maker
from grader.records import Workload
from grader.tasks.scale import Chain

COSTLY = "its layers fix a large size: one workload stands for it, and races are not looked for"
NONE_RUNS = "its reference runs at no size that was tried"
NONE_IS_SMALL = "no size of it is small enough for a CPU (its sizes can't be changed)"


@dataclass(frozen=True)
class Workloads:
    """Workloads of chosen sizes."""

    chosen: Chosen
    all: tuple[Workload, ...]
    length: int
    """Estimated number of terms summed in one output."""
    rare: tuple[Workload, ...] = ()
    """Workloads of other values, for a task whose result otherwise hardly depends on its inputs."""

    @property
    def nominal(self) -> tuple[Workload, ...]:
        """Return the workloads with the task's own kind of values."""
        return tuple(workload for workload in self.all if workload.role == "nominal")


@dataclass(frozen=True)
class Described:
    """A guest's description of a problem."""

    sizes: tuple[Size, ...]
    full: Facts | None
    values: tuple[Facts, ...]
    """Distribution of each input's values."""
    places: bool
    """Whether the reference returns indices of extremes."""
    error: str = ""
    """The reference's error at the first size where it failed."""
    left_out: bool = False
    """Whether there are sizes with more weights than requested."""

    @property
    def settled(self) -> bool:
        """Whether sizes with more weights, at which each run takes seconds, would be rejected anyway."""
        if not self.left_out:
            return True
        if self.full is None or any("int" in i.get("dtype", "") for i in self.full["inputs"]):
            return False  # the range of indices comes from a size of the full shape
        fit = strictly_fitting(self.sizes, self.full)
        return any(size.small and size.regular for size in fit)

    @property
    def missing(self) -> str:
        """Return why there are no workloads; empty where there are."""
        if not self.sizes:
            return f"{NONE_RUNS}: {self.error}" if self.error else NONE_RUNS
        return "" if choose(self.sizes, self.full) else NONE_IS_SMALL

    def workloads(self) -> Workloads | None:
        """Return the workloads of the best sizes; None where a CPU can run none."""
        chosen = choose(self.sizes, self.full)
        if chosen is None:
            return None
        maker = Maker(self.values)
        made = list(maker.all(chosen, self.full, self.places and is_whole(chosen.stressed)))
        unique = {workload.name: workload for workload in reversed(made)}
        length = max(map(reduction_length, chosen.nominal))
        return Workloads(chosen, tuple(reversed(unique.values())), length, maker.rare(chosen))

    def without(self, fact: Facts) -> Described:
        """Return a copy with only the sizes unlike this one: with other arguments where there are any, else of another shape."""
        others = [size for size in self.sizes if size.fact["init"] != fact["init"]]
        if not any(size.regular for size in others):
            others = [s for s in self.sizes if _shapes(s.fact) != _shapes(fact)]
        return replace(self, sizes=tuple(others))


def describe_candidates(
    found: Sequence[Chain],
    description: Facts,
    places: bool = False,
    share: float = 1.0,
    *,
    kept: bool = False,
) -> Described:
    """Return a guest's description of these variants as a record.

    `places`: the reference returns indices of extremes; `kept`: sizes that stay because an answer hard-codes them.
    Raises TypeError, KeyError, ValueError, AttributeError or OverflowError for a malformed description.
    """
    sizes = tuple(
        Size(chain.kind, variant.batch, check_fact(fact), share, kept)
        for chain, facts in zip(found, description["chains"], strict=True)
        for variant, fact in zip(chain.variants, facts, strict=False)
        if fact["ok"]
    )
    failed = (f for facts in description["chains"] for f in facts if not f["ok"])
    error = next((str(fact["error"]) for fact in failed), "")
    full = inputs_of(description["full"]) if description["full"]["ok"] else None
    if full is not None:
        alike = (size.fact["values"] for size in sizes if _shapes(size.fact) == _shapes(full))
        full = {**full, "values": next(alike, ())}
    values = tuple(item if isinstance(item, dict) else {} for item in description["values"])
    fit = sizes if full is None else tuple(fitting_sizes(sizes, full))
    heavy = any(
        not fact["ok"] and not fact["error"] and "weights" in fact
        for facts in description["chains"]
        for fact in facts
    )
    return Described(fit, full, values, places, error[:300], heavy)


def _shapes(fact: Facts) -> list[object]:
    return [item.get("shape") for item in fact["inputs"]]
