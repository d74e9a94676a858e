"""Workloads of chosen sizes, with values distributed like the problem's own."""

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
"""Structures of integers along the last dim."""
WIDE = 16.0
"""Standard deviation of wide values, as a multiple of the problem's largest value: their tanh and exp are still
finite."""
TAILS = 8.0
"""Scale of heavy tails: one in a few hundred values is above 88, where exp overflows float32."""
TINY = 2.0**-10
"""Standard deviation of tiny values, whose variance is small against a norm's epsilon."""
NEAR = 2.0**-5
"""Distance from 1 of values whose product over thousands stays within a few powers of e."""
MANY = 2**28
"""Number of uniform numbers in rows for which about eight rows have their largest one twice."""


class Maker:
    """Makes workloads of described sizes, with the inputs' distributions."""

    def __init__(self, values: Sequence[Facts]) -> None:
        self._values = values

    def all(self, chosen: Chosen, full: Facts | None, places: bool) -> Iterator[Workload]:
        """Yield all workloads, the nominal ones first.

        Where the reference returns indices (`places`), equal values give the first index.
        """
        for fact in chosen.nominal:
            nominal = self._make_workload(fact, "nominal")
            yield nominal.model_copy(update={"costly": True}) if chosen.huge else nominal
        if not chosen.huge:
            yield from self._more_workloads(chosen, self._ties(full) if places else None)
        if full is not None:
            yield self._make_workload(full, "full")

    def rare(self, chosen: Chosen) -> tuple[Workload, ...]:
        """Return workloads of special values, for a task whose result otherwise hardly depends on its inputs.

        Large values, which dominate a module's own constants, and values near 1, whose product does not vanish.
        """
        real = any(item.get("dtype") in REAL for item in chosen.stressed["inputs"])
        made = (
            self._make_workload(chosen.stressed, "stress", label) for label in ("wide", "near one")
        )
        return tuple(made) if real else ()

    def _more_workloads(self, chosen: Chosen, ties: Role | None) -> Iterator[Workload]:
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
        """Return `stress` where rows of the full size have ties of their extreme by chance.

        There are 2^24 distinct uniform floats.
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
        """Return the description of an input's values, at exactly this size where known."""
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
            # The full size was never drawn: indices up to a dim's length scale with it.
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
    """Return distribution, low and high within the problem's own domain."""
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
    """Return the filler value, its share and its place."""
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
    """Return the round number near a drawn extreme: 0 for 0.0007, 1 for 0.9998."""
    near = round(bound, 1)
    return near if abs(near - bound) < 0.02 * width else bound
