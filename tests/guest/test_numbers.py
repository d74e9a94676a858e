"""Sizes of a traced forward: numbers like others, that know the node they come from."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch import fx

from grader.guest.numbers import Number, number, plain, remember_numbers


def size(value: float) -> Any:
    graph = fx.Graph()
    return number(graph, graph.placeholder("x"), value)


@given(st.integers(1, 500), st.integers(1, 50))
def test_they_calculate_like_numbers_and_remember(a: int, b: int) -> None:
    made = (size(a) * b + 1) // 2
    assert made == (a * b + 1) // 2
    assert isinstance(made, Number)
    assert [node.target.__name__ for node in made.graph.nodes if node.op == "call_function"] == [
        "mul",
        "add",
        "floordiv",
    ]
    assert plain(-size(a)) == -a
    assert type(plain(size(a) / b)) is float


def test_roots_and_whole_numbers_are_remembered_while_a_text_is_traced() -> None:
    names: dict[str, Any] = {"sqrt": math.sqrt}
    before = math.sqrt
    with remember_numbers(names):
        assert isinstance(names["sqrt"](size(16)), Number)
        assert isinstance(math.sqrt(size(16)), Number)
        whole = names["int"](size(16) / 3)
        assert whole == 5
        assert isinstance(whole, Number)
        assert names["int"]("7") == 7
        assert isinstance(7, names["int"])
        assert math.sqrt(9.0) == 3.0
    assert names == {"sqrt": before}
    assert math.sqrt is before


def test_a_truth_value_is_no_size() -> None:
    assert not isinstance(size(True), Number)
    assert (size(3) > 2) is True
    with pytest.raises(TypeError):
        size(3) + "a"
