"""Workloads of chosen sizes, with values like those that the problem draws."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any, get_args

from grader.judge.facts import REAL, Facts, lengths
from grader.judge.sizes import Chosen
from grader.records import FillerPlace, Role, Structure, TensorSpec, Weights, Workload
from grader.tasks.shapes import size_text

STRUCTURES = frozenset(get_args(Structure))
PLACES = frozenset(get_args(FillerPlace))
SERIES = frozenset({"range", "ascending", "increasing", "permutation"})
"""What may hold along the last dim of integers."""
WIDE = 16.0
"""How many times the largest value that a problem draws the standard deviation of wide values is: tanh and exp
of them are still finite."""
TAILS = 8.0
"""The scale of heavy tails: in a few hundred values one is beyond 88, where exp of it is no float32 any more."""
TINY = 2.0**-10
"""The standard deviation of tiny values, beside whose variance a norm's epsilon is large."""
NEAR = 2.0**-5
"""How far from 1 a value may be of which thousands are multiplied: the product stays within a few powers of e."""
MANY = 2**28
"""Of so many uniform numbers in rows, about eight rows have their largest one twice."""


class Maker:
    """Makes workloads of described sizes, with what the inputs' values are like."""

    def __init__(self, values: Sequence[Facts]) -> None:
        self._values = values

    def all(self, chosen: Chosen, full: Facts | None, places: bool) -> Iterator[Workload]:
        """Yield all workloads, the nominal ones first.

        Where the reference finds `places`, it is the first place of equal values that it finds.
        """
        for fact in chosen.nominal:
            nominal = self._make_workload(fact, "nominal")
            yield nominal.model_copy(update={"costly": True}) if chosen.huge else nominal
        if not chosen.huge:
            yield from self._more(chosen, self._ties(full) if places else None)
        if full is not None:
            yield self._make_workload(full, "full")

    def rare(self, chosen: Chosen) -> tuple[Workload, ...]:
        """Return workloads of values for a task whose result hardly depends on its inputs otherwise.

        Large ones, beside which what a module adds of its own is little, and some near 1, whose product does not vanish.
        """
        real = any(item.get("dtype") in REAL for item in chosen.stressed["inputs"])
        made = (
            self._make_workload(chosen.stressed, "stress", label) for label in ("wide", "near one")
        )
        return tuple(made) if real else ()

    def _more(self, chosen: Chosen, ties: Role | None) -> Iterator[Workload]:
        real = any(item.get("dtype") in REAL for item in chosen.stressed["inputs"])
        if real:
            yield self._make_workload(chosen.stressed, "stress", "signed")
            yield self._make_workload(chosen.stressed, "stress", "skewed")
            if ties is not None:
                yield self._make_workload(chosen.stressed, ties, "ties")
        for size in chosen.odd:
            yield self._make_workload(size.fact, "general")
        if chosen.single is not None:
            yield self._make_workload(chosen.single, "general")
        if real:
            yield self._make_workload(chosen.stressed, "general", "heavy tails")
            yield self._make_workload(chosen.stressed, "general", "tiny")
        if chosen.nominal[0]["weights"]:
            yield self._make_workload(chosen.nominal[0], "general", weights="drawn")

    def _ties(self, full: Facts | None) -> Role:
        """Return `stress` where rows of the full size have equal extremes by chance.

        There are 2^24 uniform floats to draw.
        """
        drawn = self._make_workload(full, "full").inputs if full is not None else ()
        numbers = sum(
            prod(spec.shape)
            for spec in drawn
            if isinstance(spec, TensorSpec) and spec.distribution == "uniform"
        )
        return "stress" if numbers > MANY else "general"

    def _make_workload(
        self, fact: Facts, role: Role, label: str = "", weights: Weights = "initial"
    ) -> Workload:
        inputs = tuple(
            self._spec(item, self._value(fact, i), label) if "shape" in item else item["value"]
            for i, item in enumerate(fact["inputs"])
        )
        shapes = ",".join(size_text(item["shape"]) for item in fact["inputs"] if "shape" in item)
        init = f"({','.join(map(str, fact['init']))})" if fact["init"] else ""
        drawn = "drawn weights" if weights == "drawn" else ""
        parts = (shapes, init, label, drawn, "full" if role == "full" else "")
        return Workload(
            name=" ".join(part for part in parts if part)[:200],
            role=role,
            inputs=inputs,
            init=tuple(fact["init"]),
            weights=weights,
        )

    def _value(self, fact: Facts, index: int) -> Facts:
        """Return what the values of an input are like, at this very size where that is known."""
        own = fact.get("values") or self._values
        value: Facts = own[index] if index < len(own) else {}
        if "int" not in fact["inputs"][index].get("dtype", ""):
            return value
        low, high = int(value.get("low", 0)), int(value.get("high", 0))
        if value.get("series") in SERIES:
            return value
        if fact.get("values"):
            high = next((n - 1 for n in lengths(fact) if 0 <= n - 1 - high <= n // 8), high)
        else:
            # The full size was never drawn: an index that reached a length's end does so there.
            high = max(high, min(lengths(fact), default=high + 1) - 1)
        return {**value, "low": min(low, 0), "high": high}

    def _spec(self, item: Facts, value: Facts, label: str) -> TensorSpec:
        structure = value.get("structure", "none")
        spec = TensorSpec(
            shape=item["shape"],
            dtype=item["dtype"],
            structure=structure if structure in STRUCTURES else "none",
            order=value.get("order", ()),
        )
        drawn = _distribution(item["dtype"], value, label)
        step = 0.0 if label == "tiny" else float(value.get("step", 0.0))
        return spec.model_copy(update={"step": step, **drawn, **_filler(value)})


def _distribution(dtype: str, value: Facts, label: str) -> dict[str, Any]:
    """Return distribution, low and high that stay in the domain of what the problem draws."""
    low, high = float(value.get("low", 0.0)), float(value.get("high", 1.0))
    distinct = value.get("distinct") or []
    if len(distinct) == 1 and ("filler" in value or "float" in dtype):
        return {"distribution": "constant", "low": low}
    if dtype == "bool":
        return {"distribution": "randint", "low": 0.0, "high": 2.0}
    if "int" in dtype:
        series = value.get("series")
        drawn = series if series in SERIES else "randint"
        return {"distribution": drawn, "low": low, "high": high + 1}
    if distinct == [-1.0, 1.0]:
        return {"distribution": "signed_uniform", "low": 1.0, "high": 1.0}
    if value.get("whole") and len(distinct) > 1:
        return {"distribution": "randint", "low": low, "high": high + 1}
    return _real(low, high, value, label)


def _filler(value: Facts) -> dict[str, Any]:
    """Return which value stands in place of others, how often and where."""
    if "filler" not in value or value.get("place") not in PLACES:
        return {}
    return {name: value[name] for name in ("filler", "share", "place")}


def _real(low: float, high: float, value: Facts, label: str) -> dict[str, Any]:
    if label == "signed":
        scale = round(max(abs(low), abs(high)) / 2 + 0.5, 2)
        return {"distribution": "normal", "low": 0.0, "high": scale}
    if label == "wide":
        return {"distribution": "normal", "low": 0.0, "high": WIDE * max(abs(low), abs(high), 1.0)}
    if label == "near one":
        return {"distribution": "uniform", "low": 1.0 - NEAR, "high": 1.0 + NEAR}
    if label == "skewed":
        return {"distribution": "skewed", "low": low, "high": high}
    if label == "ties":
        return {"distribution": "randint", "low": round(low), "high": round(low) + 8}
    if label == "tiny":
        return {
            "distribution": "normal",
            "low": 0.0,
            "high": TINY * max(abs(low), abs(high), 1.0),
        }
    if label == "heavy tails":
        return {"distribution": "heavy_tailed", "low": 0.0, "high": TAILS}
    mean, deviation = float(value.get("mean", 0.0)), float(value.get("deviation", 1.0))
    if low < 0 and max(abs(low - mean), abs(high - mean)) > 2.2 * deviation:
        return {"distribution": "normal", "low": round(mean, 1), "high": round(deviation, 2) or 1.0}
    if not value.get("step"):
        low, high = _snap_to_round(low, high - low), _snap_to_round(high, high - low)
    return {"distribution": "uniform", "low": low, "high": high}


def _snap_to_round(bound: float, width: float) -> float:
    """Return the round number that a drawn extreme came close to: 0 for 0.0007, 1 for 0.9998."""
    near = round(bound, 1)
    return near if abs(near - bound) < 0.02 * width else bound
