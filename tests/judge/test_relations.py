"""What holds between the numbers of a full size, and is lost at a smaller one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.judge.relations import relations_lost


def fact(*shapes: tuple[int, ...], init: tuple[object, ...] = ()) -> dict[str, object]:
    return {"inputs": [{"shape": shape} for shape in shapes], "init": list(init)}


FULL = fact((128, 32, 256, 512), init=(32, 64, 3))


@pytest.mark.parametrize(
    ("smaller", "points"),
    [
        (fact((2, 32, 64, 128), init=(32, 64, 3)), 2),  # 64 channels and 64 rows
        (fact((2, 8, 64, 128), init=(8, 16, 3)), 0),
        (fact((2, 8, 64, 128), init=(8, 8, 3)), 2),  # channels in and out
        (fact((1, 8, 64, 128), init=(8, 16, 3)), 4),  # a batch of one
        (fact((2, 8, 64, 64), init=(8, 16, 3)), 2),  # an image that became square
    ],
)
def test_what_is_lost(smaller: dict[str, object], points: int) -> None:
    assert relations_lost(smaller, FULL) == points


def test_groups_that_became_as_many_as_channels_are_lost() -> None:
    full = fact((1024, 8192), init=(8192, 256))
    assert relations_lost(fact((64, 512), init=(512, 256)), full) == 0
    assert relations_lost(fact((64, 256), init=(256, 256)), full) == 2


SHAPES = st.lists(st.integers(1, 600), min_size=1, max_size=4).map(tuple)


@given(SHAPES, SHAPES)
def test_a_size_loses_nothing_to_itself(first: tuple[int, ...], second: tuple[int, ...]) -> None:
    whole = fact(first, second, init=(first[0], [second[0], 2.0, "x", True]))
    assert relations_lost(whole, whole) == 0
