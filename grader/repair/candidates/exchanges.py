"""Exchanges of two expressions: arguments, elements of one array, axes of a grid, a quotient and a remainder."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations, pairwise

from grader.repair.candidates.candidate import Candidate
from grader.repair.candidates.changeable import Changeable, Given

APART = 0.5
"""Additional cost of an exchange for each expression in between."""
TAKEN_APART, BY_ANOTHER = 1.0, 1.8
"""Cost of a quotient and a rest in each other's place, as they are, and by another size."""


def exchanges(scope: Changeable) -> Iterator[Candidate]:
    """Yield the changes that exchange two expressions of a function."""
    for likes in scope.alike():
        every = list(zip(range(len(likes.nodes)), likes.nodes, likes.kinds, strict=False))
        for (at, one, kind), (then, other, second) in combinations(every, 2):
            words = scope.old(one), scope.old(other)
            if kind == second and words[0] != words[1]:
                cost = likes.cost + APART * (then - at - 1)
                pairs = (one, _by_axis(words[1], words[0])), (other, _by_axis(*words))
                yield scope.changes(cost, likes.touches, *pairs)
    for first, second in pairwise(scope.given):
        if scope.is_pair(first, second):
            yield from _exchanged_parts(scope, first, second)


def _by_axis(words: str, there: str) -> str:
    """Return a size in the form for another axis: divided by that axis of the block, `block.y` for `block.x`."""
    axis = re.search(r"/ \w+(\.[xyz])$", there)
    return re.sub(r"(?<=\w)\.[xyz]\b", axis[1], words) if axis else words


def _exchanged_parts(scope: Changeable, first: Given, second: Given) -> Iterator[Candidate]:
    """`n = i / s; p = i % s;` for `n = i % s; p = i / s;`, and the like by two sizes, or by another one."""
    one, two = scope.old(first.value), scope.old(second.value)
    a, b = (scope.tree.words(scope.tree.parts(each.value)[-1]) for each in (first, second))

    def parts(cost: float, new: dict[str, str]) -> Candidate:
        words = _put_words(two, new), _put_words(one, new)
        return scope.changes(cost, "index", (first.value, words[0]), (second.value, words[1]))

    yield parts(TAKEN_APART, {})
    if a != b:
        yield parts(TAKEN_APART, {a: b, b: a})
    else:
        yield from (parts(BY_ANOTHER, {a: other}) for other in scope.sizes if other != a)


def _put_words(words: str, new: dict[str, str]) -> str:
    """Return a text with some words replaced."""
    pattern = "|".join(rf"(?<!\w){re.escape(word)}(?!\w)" for word in new)
    return re.sub(pattern, lambda match: new[match.group()], words) if new else words
