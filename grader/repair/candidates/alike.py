"""Deduplication of candidates, and the same change at several places as one candidate."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise, product

from grader.repair.candidates.candidate import Candidate, Piece

TOGETHER = 0.4
"""Additional cost of the same change at several places."""
RENAMED = 0.8
"""Factor on the cost for several names with equal ends: `H` and `W` for `OH` and `OW`."""


def cheapest(every: Iterable[Candidate], says: Callable[[Candidate], Hashable]) -> list[Candidate]:
    """Return each change once, at its lowest cost, without ineffective ones.

    `says` returns the program's text there after a change, None where it is unchanged.
    """
    found: dict[Hashable, Candidate] = {}
    for one in sorted(every, key=lambda one: one.cost):
        said = says(one)
        if said is not None:
            found.setdefault(said, one)
    return list(found.values())


def together(
    single: Sequence[Candidate], within: Callable[[Candidate], Iterable[Hashable]]
) -> Iterator[Candidate]:
    """Yield the same change at several places as one; `within` returns the enclosing unit, such as a statement."""
    shared: dict[Hashable, list[Candidate]] = defaultdict(list)
    for one in single:
        for way, place in product(one.ways, within(one)):
            shared[way, place].append(one)
    taken: set[tuple[Piece, ...]] = set()
    for alike in shared.values():
        pieces = tuple(sorted((one.pieces[0] for one in alike), key=lambda one: one.span))
        if len(pieces) > 1 and pieces not in taken and _are_apart(pieces):
            taken.add(pieces)
            least = min(one.cost for one in alike)
            same = len({one.code for one in pieces}) == 1
            yield replace(alike[0], pieces=pieces, cost=least + TOGETHER if same else least * RENAMED)  # fmt: skip


def _are_apart(pieces: Sequence[Piece]) -> bool:
    return all(first.span[1] <= second.span[0] for first, second in pairwise(pieces))
