"""Smaller numbers are to one another as the original ones were."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from grader.tasks.scale import FACTORS, divide_size
from grader.tasks.spacing import most_quotient, space_values

VALUES = st.sets(
    st.one_of(
        st.integers(1, 300),
        st.integers(0, 17).map(lambda power: 2**power),
        st.integers(1, 90).map(lambda n: 32 * n),
    ),
    max_size=8,
)


@given(values=VALUES, factor=st.sampled_from(FACTORS), floor=st.sampled_from([4, 8, 32]))
def test_order_is_kept_and_nothing_grows(values: set[int], factor: int, floor: int) -> None:
    made = space_values(
        values, lambda value: divide_size(value, factor, floor), most_quotient(factor)
    )
    ordered = [made[value] for value in sorted(values)]
    assert ordered == sorted(set(ordered))
    assert all(new <= old for old, new in made.items())


@given(values=VALUES, factor=st.sampled_from(FACTORS))
def test_powers_of_two_stay_so_and_odd_ones_are_odd(values: set[int], factor: int) -> None:
    even = space_values(values, lambda value: divide_size(value, factor, 4), most_quotient(factor))
    for old, new in even.items():
        assert new & (new - 1) == 0 or old & (old - 1)
    odd = space_values(values, lambda value: divide_size(value, factor, 4), 1, odd=True)
    assert all(new % 2 for new in odd.values())


def smallest(*values: int) -> list[int]:
    made = space_values(values, lambda value: divide_size(value, 2**15, 32), most_quotient(2**15))
    return [made[value] for value in values]


def test_what_a_reduction_must_not_make_equal():
    assert smallest(32, 64) == [32, 64]
    assert smallest(128, 512, 1024) == [32, 64, 128]
    assert smallest(256, 8192) == [32, 64]
    assert smallest(12, 768) == [12, 96]


def test_an_expansion_is_kept_where_there_is_room():
    made = space_values(
        {768, 3072}, lambda value: divide_size(value, 1024, 32), most_quotient(1024)
    )
    assert made[3072] == 4 * made[768]


def test_numbers_that_stay_are_divided_more_than_once():
    made = space_values({512, 8192}, lambda value: divide_size(value, 2**15, 32), 2, {256: 256})
    assert made[8192] > made[512] > 256
    assert made[8192] % 256 == 0


def test_lengths_may_be_close():
    made = space_values({16, 32, 64}, lambda value: divide_size(value, 2**15, 4), 2, close=True)
    assert list(made.values()) == [4, 6, 8]
