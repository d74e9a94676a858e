"""Workloads for a problem file or an embedded reference, from what a guest says of its inputs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import prod
from typing import Any, get_args

from grader.errors import GraderError
from grader.judge.audit import audit, weaknesses
from grader.records import DType, Role, Structure, Task, TensorSpec, Weights, Workload
from grader.sandbox import Form, GuestJob, Limits, converse
from grader.tasks.scale import LONG, Chain, chains
from grader.tasks.shapes import size_text

SMALL: Mapping[str, int] = {
    "size": 200_000,
    "elements": 4_000_000,
    "flops": 12_000_000,
    "weights": 4_000_000,
}
"""What a CPU simulator runs in seconds: elements of the inputs, elements that all operators of the
reference make together, floating-point operations of its products, elements of its weights."""
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
COSTLY = "its layers fix a large size: one workload stands for it, and races are not looked for"
NEAR = 2.5
"""Where nothing is small, what costs at most this many times the least is as good as the least."""
SECONDS = 15.0
"""Processor time that a guest may spend on trying sizes."""
MAX_TEXT = 200_000
DTYPES = frozenset(get_args(DType))
STRUCTURES = frozenset(get_args(Structure))
REGULAR = frozenset({"spatial", "all"})
REAL = frozenset({"float16", "bfloat16", "float32", "float64"})
PLACES = re.compile(r"\barg(max|min)\b")
MANY = 2**28
"""Of so many uniform numbers in rows, about eight rows have their largest one twice."""

Facts = Mapping[str, Any]
_Answer = tuple[tuple[Workload, ...], int, str, tuple[str, ...]]
"""Workloads, reduction length, a note, and weaknesses."""


@dataclass(frozen=True)
class _Size:
    """One variant that the reference ran on."""

    kind: str
    batch: int
    fact: Facts

    @property
    def elements(self) -> int:
        """Return its input elements."""
        return int(self.fact["size"])

    @property
    def cost(self) -> float:
        """Return how many times what a simulator runs in seconds it is."""
        return max(int(self.fact[name]) / limit for name, limit in SMALL.items())

    def within(self, limits: Mapping[str, int]) -> bool:
        """Whether it costs no more than that."""
        return all(self.fact[name] <= limit for name, limit in limits.items())


@dataclass(frozen=True)
class _Chosen:
    """The sizes that workloads are made of."""

    nominal: tuple[Facts, ...]
    stressed: Facts
    """The one that other values are tried at."""
    odd: tuple[_Size, ...]
    single: Facts | None
    """A batch of one."""
    huge: bool = False
    """Whether each run of it takes so long that only one is made."""


def describe(task: Task, form: Form, limits: Limits) -> Task:
    """Return the draft with workloads: reduced nominal sizes, odd ones, other values, full size.

    The task comes back without workloads, and with a note that says why, where its own text fails
    or where no size can be found that a CPU can run. Raises GraderError for our own failure.
    """
    if task.workloads:
        return task
    workloads, length, note, weak = _asked(task.reference, form, limits)
    notes = (*task.notes, note) if note else task.notes
    return task.model_copy(
        update={
            "workloads": workloads,
            "reduction_length": str(length),
            "notes": notes,
            "weak": weak,
        }
    )


@lru_cache(maxsize=512)
def _asked(reference: str, form: Form, limits: Limits) -> _Answer:
    """Return all that depends on the text alone; the same text is asked about only once."""
    workloads, length, note = _described(reference, form, limits)
    if not any(workload.role == "general" for workload in workloads):
        # There are none, or they are huge: to ask what wrong programs would get takes minutes.
        return workloads, length, note, ()
    draft = Task(
        name="problem",
        title="",
        source="embedded",
        reference=reference,
        workloads=workloads,
        reduction_length=str(length),
    )
    return workloads, length, note, weaknesses(audit(draft, form, limits))


def _described(reference: str, form: Form, limits: Limits) -> tuple[tuple[Workload, ...], int, str]:
    """Return workloads, reduction length and, where there are none, why."""
    found = chains(reference) if len(reference) <= MAX_TEXT else ()
    if not found:
        return (), 1, "the problem's text can't be parsed"
    options = {
        "full": reference,
        "chains": [[variant.text for variant in chain.variants] for chain in found],
        "kinds": [c.kind if c.kind in REGULAR else f"{c.kind} {i}" for i, c in enumerate(found)],
        "most": dict(MOST),
        "weights": HUGE["weights"],
        "seconds": SECONDS,
    }
    job = GuestJob(
        role="reference",
        code=reference,
        entry="Model",
        device="cpu",
        describe=True,
        options=options,
    )
    reply = converse(job, form, limits)
    if reply.status == "grader_error":
        raise GraderError(f"the problem could not be described: {reply.reason}")
    if reply.status != "done":
        return (), 1, f"the problem's own text fails: {reply.reason or reply.status}"
    try:
        return workloads_of(found, reply.description, PLACES.search(reference) is not None)
    except (TypeError, KeyError, ValueError, AttributeError, OverflowError):
        return (), 1, "the problem's own text describes its inputs in a way that makes no sense"


def workloads_of(
    found: Sequence[Chain], description: Facts, places: bool = False
) -> tuple[tuple[Workload, ...], int, str]:
    """Return workloads, reduction length and a note (why there are none, for instance).

    All from a guest's description; `places` says that the reference finds places of extremes.

    Raises TypeError, KeyError, ValueError, AttributeError or OverflowError where that makes no sense.
    """
    sizes = [
        _Size(chain.kind, variant.batch, _checked_fact(fact))
        for chain, facts in zip(found, description["chains"], strict=True)
        for variant, fact in zip(chain.variants, facts, strict=False)
        if fact["ok"]
    ]
    if not sizes:
        first = next((str(f["error"]) for facts in description["chains"] for f in facts), "")
        why = f": {first[:300]}" if first else ""
        return (), 1, f"its reference runs at no size that was tried{why}"
    full = _inputs_of(description["full"]) if description["full"]["ok"] else None
    fitting = _fitting(sizes, full) if full is not None else sizes
    chosen = _chosen(fitting, full)
    if chosen is None:
        return (), 1, "no size of it is small enough for a CPU (its sizes can't be changed)"
    maker = _Maker([item if isinstance(item, dict) else {} for item in description["values"]])
    made = list(maker.all(chosen, full, places and _whole(chosen.stressed)))
    unique = {workload.name: workload for workload in reversed(made)}
    note = COSTLY if chosen.huge else ""
    return tuple(reversed(unique.values())), max(map(_reduction_length, chosen.nominal)), note


def _fitting(sizes: Sequence[_Size], full: Facts) -> list[_Size]:
    """Return the sizes at which inputs that fit together at full size still do.

    Dims are matched from the last one on, as broadcasting does: (N, M) and (M,) stay so where N and
    M are the same number, though a smaller batch would change only N.
    """
    fitting = [size for size in sizes if _matches(full) <= _matches(size.fact)]
    return fitting or list(sizes)


def _matches(fact: Facts) -> set[tuple[int, int, int]]:
    """Return which dims, counted from the last, are as long in one input as in another."""
    shapes = [(i, item["shape"][::-1]) for i, item in enumerate(fact["inputs"]) if "shape" in item]
    return {
        (i, j, dim)
        for (i, first), (j, second) in combinations(shapes, 2)
        for dim, (n, m) in enumerate(zip(first, second, strict=False))
        if n == m
    }


def _chosen(sizes: Sequence[_Size], full: Facts | None) -> _Chosen | None:
    """Return the sizes to use; None where a CPU can run none of them."""
    small = [size for size in sizes if size.within(SMALL)]
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
    return _Chosen(
        nominal=tuple(nominal),
        stressed=(second or first).fact,
        odd=tuple(_spread([size for size in small if size.kind == "odd"])),
        single=next((size.fact for size in regular if _batch(size.fact) == 1), None),
        huge=not first.within(MOST),
    )


def _regular(sizes: Sequence[_Size], small: Sequence[_Size]) -> list[_Size]:
    """Return the sizes that may stand for the full one, the best first."""
    cheap = [size for size in small if size.kind in REGULAR]
    if cheap:
        return sorted([*cheap, *_pairs(sizes, cheap)], key=_preference)
    usable = [size for size in sizes if size.kind in REGULAR and size.within(HUGE)]
    large = [size for size in usable if size.within(MOST)] or usable
    most = NEAR * min((size.cost for size in large), default=0.0)
    near = (size for size in large if size.cost <= most)
    return sorted(near, key=lambda size: (size.batch == 1, size.cost, size.elements))


def _pairs(sizes: Sequence[_Size], cheap: Sequence[_Size]) -> list[_Size]:
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


def _batch(fact: Facts) -> int:
    first = next((item["shape"] for item in fact["inputs"] if "shape" in item), ())
    return int(first[0]) if first else 0


def _preference(size: _Size) -> tuple[float, ...]:
    """Order sizes: channels kept, then more than one in a batch, then the largest."""
    return (size.kind != "spatial", size.batch == 1, -size.elements, size.batch)


def _checked_fact(fact: Any) -> Facts:
    """Return a fact in the form that is expected; raises ValueError and the like for any other."""
    names = ("size", "elements", "flops", "weights", "fan_in")
    numbers = {name: int(fact[name]) for name in names}
    outputs = [_checked_input(item) for item in fact["outputs"]]
    values = [item if isinstance(item, dict) else {} for item in fact.get("values", ())]
    return {**_inputs_of(fact), "outputs": outputs, "values": values, **numbers}


def _inputs_of(fact: Any) -> Facts:
    inputs = [_checked_input(item) for item in fact["inputs"]]
    return {"inputs": inputs, "init": list(fact["init"])}


def _checked_input(item: Any) -> Facts:
    if "shape" not in item:
        return {"value": item["value"]}
    shape = tuple(int(n) for n in item["shape"])
    if item["dtype"] not in DTYPES or len(shape) > 16 or any(n < 0 for n in shape):
        raise ValueError
    return {"shape": shape, "dtype": item["dtype"]}


def _reduction_length(fact: Facts) -> int:
    """Return a guess at how many terms meet in one output: weights' fan-in or input per output."""
    results = sum(prod(item["shape"]) for item in fact["outputs"] if "shape" in item)
    longest = max((n for item in fact["inputs"] for n in item.get("shape", ())), default=1)
    per_output = int(fact["size"]) // max(int(results), 1)
    return max(per_output, int(fact["fan_in"]), int(longest), 1)


class _Maker:
    """Makes workloads of described sizes, with what the inputs' values are like."""

    def __init__(self, values: Sequence[Facts]) -> None:
        self._values = values

    def all(self, chosen: _Chosen, full: Facts | None, places: bool) -> Iterator[Workload]:
        """Yield all workloads, the nominal ones first.

        Where the reference finds `places`, it is the first place of equal values that it finds.
        """
        for fact in chosen.nominal:
            nominal = self._made(fact, "nominal")
            yield nominal.model_copy(update={"costly": True}) if chosen.huge else nominal
        if not chosen.huge:
            yield from self._more(chosen, self._ties(full) if places else None)
        if full is not None:
            yield self._made(full, "full")

    def _more(self, chosen: _Chosen, ties: Role | None) -> Iterator[Workload]:
        real = any(item.get("dtype") in REAL for item in chosen.stressed["inputs"])
        if real:
            yield self._made(chosen.stressed, "stress", "signed")
            yield self._made(chosen.stressed, "stress", "skewed")
            if ties is not None:
                yield self._made(chosen.stressed, ties, "ties")
        for size in chosen.odd:
            yield self._made(size.fact, "general")
        if chosen.single is not None:
            yield self._made(chosen.single, "general")
        if real:
            yield self._made(chosen.stressed, "general", "heavy tails")
        if chosen.nominal[0]["weights"]:
            yield self._made(chosen.nominal[0], "general", weights="drawn")

    def _ties(self, full: Facts | None) -> Role:
        """Return `stress` where rows of the full size have equal extremes by chance.

        There are 2^24 uniform floats to draw.
        """
        drawn = self._made(full, "full").inputs if full is not None else ()
        numbers = sum(
            prod(spec.shape)
            for spec in drawn
            if isinstance(spec, TensorSpec) and spec.distribution == "uniform"
        )
        return "stress" if numbers > MANY else "general"

    def _made(
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
        if fact.get("values"):
            high = next((n - 1 for n in _lengths(fact) if 0 <= n - 1 - high <= n // 8), high)
        else:
            # The full size was never drawn: an index that reached a length's end does so there.
            high = max(high, min(_lengths(fact), default=high + 1) - 1)
        return {**value, "low": min(low, 0), "high": high}

    def _spec(self, item: Facts, value: Facts, label: str) -> TensorSpec:
        structure = value.get("structure", "none")
        spec = TensorSpec(
            shape=item["shape"],
            dtype=item["dtype"],
            structure=structure if structure in STRUCTURES else "none",
        )
        return spec.model_copy(update=_distribution(item["dtype"], value, label))


def _whole(fact: Facts) -> bool:
    """Tell whether a size's only output holds whole numbers."""
    return len(fact["outputs"]) == 1 and fact["outputs"][0].get("dtype") == "int64"


def _lengths(fact: Facts) -> list[int]:
    """Return the lengths of real inputs after their first dim, the shortest first."""
    real = (item["shape"] for item in fact["inputs"] if item.get("dtype") in REAL)
    return sorted(n for shape in real for n in shape[1:] if n > 1)


def _spread(odd: Sequence[_Size]) -> list[_Size]:
    """Return a large and a small one of the odd sizes."""
    ordered = sorted(odd, key=lambda size: size.elements)
    return [ordered[-1], ordered[0]] if len(ordered) > 1 else list(ordered)


def _distribution(dtype: str, value: Facts, label: str) -> dict[str, Any]:
    """Return distribution, low and high that stay in the domain of what the problem draws."""
    low, high = float(value.get("low", 0.0)), float(value.get("high", 1.0))
    distinct = value.get("distinct") or []
    if dtype == "bool":
        return {"distribution": "randint", "low": 0.0, "high": 2.0}
    if "int" in dtype:
        return {"distribution": "randint", "low": low, "high": high + 1}
    if len(distinct) == 1:
        return {"distribution": "constant", "low": low}
    if distinct == [-1.0, 1.0]:
        return {"distribution": "signed_uniform", "low": 1.0, "high": 1.0}
    if value.get("whole") and len(distinct) > 1:
        return {"distribution": "randint", "low": low, "high": high + 1}
    return _real(low, high, value, label)


def _real(low: float, high: float, value: Facts, label: str) -> dict[str, Any]:
    if label == "signed":
        scale = round(max(abs(low), abs(high)) / 2 + 0.5, 2)
        return {"distribution": "normal", "low": 0.0, "high": scale}
    if label == "skewed":
        return {"distribution": "skewed", "low": low, "high": high}
    if label == "ties":
        return {"distribution": "randint", "low": round(low), "high": round(low) + 8}
    if label == "heavy tails":
        return {"distribution": "heavy_tailed", "low": 0.0, "high": 1.0}
    mean, deviation = float(value.get("mean", 0.0)), float(value.get("deviation", 1.0))
    if low < 0 and max(abs(low - mean), abs(high - mean)) > 2.2 * deviation:
        return {"distribution": "normal", "low": round(mean, 1), "high": round(deviation, 2) or 1.0}
    low, high = _snapped(low, high - low), _snapped(high, high - low)
    return {"distribution": "uniform", "low": low, "high": high}


def _snapped(bound: float, width: float) -> float:
    """Return the round number that a drawn extreme came close to: 0 for 0.0007, 1 for 0.9998."""
    near = round(bound, 1)
    return near if abs(near - bound) < 0.02 * width else bound
