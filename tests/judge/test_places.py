"""Where elements stand, in words."""

from __future__ import annotations

import numpy as np
import pytest

from grader.judge import told_places


def marked(shape: tuple[int, ...], *places: tuple[int | slice, ...]) -> np.ndarray:
    mask = np.zeros(shape, bool)
    for place in places:
        mask[place] = True
    return mask


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        (marked((5, 40), (slice(3, None),)), "all in rows from 3 on of 5, the first at [3, 0]"),
        (
            marked((5, 40), (slice(0, 5), 0)),
            "all in the first 1 of 40 columns, the first at [0, 0]",
        ),
        (
            marked((64,), (slice(1, None, 4),)),
            "all in elements that are 1 modulo 4, the first at [1]",
        ),
        (marked((64,), (7,), (9,)), "all in elements 7, 9, the first at [7]"),
    ],
)
def test_places_are_named_by_dim(mask: np.ndarray, words: str) -> None:
    assert told_places(mask) == words


def test_all_or_none_needs_no_words() -> None:
    assert told_places(np.ones((2, 3), bool)) == told_places(np.zeros((2, 3), bool)) == ""
