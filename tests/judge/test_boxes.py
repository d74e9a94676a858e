"""A box of elements, as a person says it."""

from __future__ import annotations

import pytest

from grader.judge.boxes import in_words
from grader.records import Extent


def extent(first: int, last: int, size: int) -> Extent:
    return Extent(first=first, last=last, step=1, count=last - first + 1, size=size)


@pytest.mark.parametrize(
    ("box", "said"),
    [
        ([(0, 0, 4), (80, 92, 93)], "row 0, columns 80 to 92"),
        ([(0, 3, 4), (3, 9, 16), (0, 7, 8)], "indices 3 to 9 of dim 1"),
        ([(0, 0, 2), (32, 63, 64), (0, 7, 8), (0, 0, 4)], "[0, 32 to 63, :, 0]"),
        ([(0, 3, 4)], ""),
    ],
)
def test_a_box_in_words(box: list[tuple[int, int, int]], said: str) -> None:
    assert in_words([extent(*one) for one in box]) == said
