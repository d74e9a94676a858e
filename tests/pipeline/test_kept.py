"""What is kept of tasks: made once at a time, and bounded."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from grader.pipeline.kept import Kept


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 40))))
def test_it_never_weighs_more_than_its_limit(asked: list[tuple[int, int]]) -> None:
    kept: Kept[int] = Kept(100, lambda weight: weight)
    weights: dict[int, int] = {}
    for key, drawn in asked:
        weight = weights.setdefault(key, drawn)
        assert kept.get(str(key), partial(int, weight)) == weight
        assert kept.weight <= 100


def test_what_was_used_last_stays() -> None:
    kept: Kept[str] = Kept(2)
    for key in ("a", "b", "a", "c"):
        kept.get(key, lambda: "first")
    assert [kept.get(key, lambda: "again") for key in ("a", "c", "b")] == [
        "first",
        "first",
        "again",
    ]


def test_a_value_heavier_than_the_limit_stays_until_the_next_one_comes() -> None:
    """One sample's looks ask for it one after the other."""
    kept: Kept[int] = Kept(10, lambda weight: weight)
    assert [kept.get("a", lambda: 11), kept.get("a", lambda: 12)] == [11, 11]
    assert kept.get("b", lambda: 1) == kept.weight == 1


def test_those_who_ask_together_get_one_value() -> None:
    kept: Kept[object] = Kept(2)
    made: list[int] = []
    ready = threading.Barrier(4)

    def make() -> object:
        made.append(1)
        time.sleep(0.05)
        return object()

    def ask(_: int) -> object:
        ready.wait()
        return kept.get("a", make)

    with ThreadPoolExecutor(4) as pool:
        assert len(set(map(id, pool.map(ask, range(4))))) == 1
    assert made == [1]
