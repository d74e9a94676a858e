"""The map of where an output is wrong."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from grader.judge.wrong_map import CELLS, wrong_map


@given(arrays(bool, array_shapes(max_dims=4, max_side=40)))
def test_a_map_says_where_nothing_and_where_something_is_wrong(mask: np.ndarray) -> None:
    found = wrong_map(mask)
    if mask.size < 2 or mask.all():
        assert found is None
        return
    assert found is not None
    cells = "".join(found.rows)
    assert len({len(row) for row in found.rows}) == 1
    assert max(len(found.rows), len(found.rows[0])) <= CELLS
    assert set(cells) <= set("0123456789")
    assert set(cells) != {"9"}
    assert (set(cells) == {"0"}) == (not mask.any())


@pytest.mark.parametrize("shape", [(4, 1000), (64, 64), (5, 7)])
def test_a_tail_of_columns_is_the_right_hand_side(shape: tuple[int, int]) -> None:
    mask = np.zeros(shape, dtype=bool)
    mask[:, shape[1] // 2 :] = True
    found = wrong_map(mask)
    assert found is not None
    for row in found.rows:
        assert row[0] == "0"
        assert row[-1] == "9"
        assert list(row) == sorted(row)


def test_one_wrong_element_of_thousands_is_on_the_map_and_one_right_one_too() -> None:
    mask = np.zeros((500, 500), dtype=bool)
    mask[77, 123] = True
    for one, others in ((mask, "0"), (~mask, "9")):
        found = wrong_map(one)
        assert found is not None
        odd = [cell for cell in "".join(found.rows) if cell != others]
        assert odd == ["1" if others == "0" else "8"]


@pytest.mark.parametrize(
    ("place", "down", "across"),
    [
        ((slice(None), slice(None), slice(0, 1)), "dim 2", "dim 3"),
        ((slice(1, 2), slice(2, 4)), "dim 0", "dim 1"),
        ((1, 5, 3), "dims 0 to 2 together", "dim 3"),
    ],
)
def test_the_dims_that_tell_most_are_shown(place: tuple, down: str, across: str) -> None:
    mask = np.zeros((2, 6, 9, 11), dtype=bool)
    mask[place] = True
    found = wrong_map(mask)
    assert found is not None
    assert (found.down.split(" (")[0], found.across.split(" (")[0]) == (down, across)


@given(st.integers(2, 5000), st.data())
def test_a_vector_is_one_row(size: int, data: st.DataObject) -> None:
    cut = data.draw(st.integers(1, size - 1))
    found = wrong_map(np.arange(size) >= cut)
    assert found is not None
    (row,) = found.rows
    assert found.down == ""
    assert list(row) == sorted(row)
