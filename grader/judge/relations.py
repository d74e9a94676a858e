"""Relations between a task's numbers that smaller numbers keep or lose.

The numbers are the lengths of the inputs' dims and the whole numbers among the constructor's arguments, each
at its place. A program that confuses two of them is found only where they differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations

from grader.judge.facts import Facts
from grader.records import JsonValue

LEAST = 5
"""Kernel sizes, strides and numbers of stacked inputs are equal to other small numbers by chance."""
Place = tuple[str, int, int]


def relations_lost(fact: Facts, full: Facts) -> int:
    """Return a penalty for the relations between the full size's numbers that a smaller size loses.

    Two different numbers that become equal, two equal ones that become different, or a lost multiple: 2 each. A changed
    order, or a number that becomes equal to the batch: 1. A batch of one, which hides a wrong step between its
    elements: 4.
    """
    small, large = _numbers(fact), _numbers(full)
    pairs = {
        (large[a], large[b], small[a], small[b], _batch(a) or _batch(b))
        for a, b in combinations([place for place in large if place in small], 2)
        if min(large[a], large[b]) >= LEAST
    }
    alone = any(_batch(p) and large[p] > 1 and small[p] == 1 for p in large if p in small)
    return sum(_relations_lost(*pair) for pair in pairs) + 4 * alone


def _relations_lost(u: int, v: int, a: int, b: int, batch: bool) -> int:
    if batch:
        return int(a == b and u != v)
    if a == b or u == v:
        return 2 * ((a == b) != (u == v))
    low, high = (a, b) if u < v else (b, a)
    if low > high:
        return 1
    divides = max(u, v) % min(u, v) == 0
    return 2 * (divides and high % max(low, 1) != 0)


def _batch(place: Place) -> bool:
    return place[0] == "input" and place[2] == 0


def _numbers(fact: Facts) -> Mapping[Place, int]:
    shapes = (
        (("input", i, dim), n)
        for i, item in enumerate(fact["inputs"])
        for dim, n in enumerate(item.get("shape", ()))
    )
    given = ((("init", k, 0), n) for k, n in enumerate(_whole_numbers(fact["init"])))
    return dict([*shapes, *given])


def _whole_numbers(value: JsonValue) -> Iterator[int]:
    """Yield the whole numbers of nested arguments, in their order; 0 where there is another."""
    if isinstance(value, list | tuple):
        for item in value:
            yield from _whole_numbers(item)
    else:
        yield value if type(value) is int else 0
