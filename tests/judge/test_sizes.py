"""Which of the sizes that a problem runs at stand for its own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from grader.judge.sizes import FEW, SMALL, WORTH, Size, choose


def size(shape: tuple[int, ...], cost: float, *, fewest: int = 0, kind: str = "all") -> Size:
    """Return a size whose products cost so many times what runs in seconds."""
    elements = 1
    for n in shape:
        elements *= n
    fact = {
        "inputs": [{"shape": shape, "dtype": "float32"}],
        "init": [],
        "size": elements,
        "elements": elements,
        "flops": round(cost * SMALL["flops"]),
        "weights": 0,
        "fewest": fewest,
    }
    return Size(kind, shape[0], fact)


def first(*sizes: Size) -> tuple[int, ...]:
    chosen = choose(sizes, None)
    assert chosen is not None
    return chosen.nominal[0]["inputs"][0]["shape"]


@pytest.mark.parametrize("cost", [0.5, 5.0])
def test_a_norm_over_two_values_hides_what_went_into_it(cost):
    thin, thick = size((2, 3, 64, 64), cost, fewest=2), size((10, 3, 32, 32), 5 * cost, fewest=40)
    assert first(thin, thick) == (10, 3, 32, 32)
    assert first(thin, size((2, 3, 96, 96), cost, fewest=FEW)) == (2, 3, 96, 96)


def test_more_values_for_a_norm_are_not_worth_any_cost():
    thin = size((2, 3, 32, 32), 5.0, fewest=2)
    assert first(thin, size((2, 3, 96, 96), 5.1 * WORTH, fewest=18)) == (2, 3, 32, 32)


def test_channels_are_given_up_for_a_norm_over_more_values():
    kept = size((64, 64, 4, 4), 0.5, fewest=4, kind="spatial")
    assert first(kept, size((2, 32, 16, 16), 0.5, fewest=196)) == (2, 32, 16, 16)


def test_hardly_any_elements_are_not_enough_where_a_few_more_cost_little():
    few, more = size((2, 4, 192), 0.6), size((2, 16, 192), 2.4)
    assert first(few, more) == (2, 16, 192)
    assert first(few, more, size((64, 64), 0.9)) == (64, 64)


def test_less_than_the_usual_work_is_a_smaller_size():
    sizes = [size((n, 64), cost) for n, cost in ((2, 0.01), (8, 0.1), (32, 0.9))]
    few = [replace(item, share=1 / 64) for item in sizes]
    assert first(*sizes) == (32, 64)
    assert first(*few) == (2, 64)


def test_what_an_answer_writes_may_cost_one_long_run():
    """Two million values in one image: too many for every answer, but the only ones at which this one can be right."""
    large = size((1, 64, 32, 1024), 20.0)
    assert choose([large], None) is None
    chosen = choose([replace(large, kept=True)], None)
    assert chosen is not None
    assert chosen.huge
    assert choose([replace(size((1, 64, 64, 1024), 20.0), kept=True)], None) is None
