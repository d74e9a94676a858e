"""Builds wait for memory, and never for ever."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable

import pytest

from grader.build.admission import Admission


def most_at_once(admission: Admission, builds: int, together: int) -> int:
    """Run builds in threads, `together` of which wait for each other; return how many met at most."""
    running, most, guard = 0, 0, threading.Lock()
    met = threading.Barrier(together)

    def build() -> None:
        nonlocal running, most
        with admission.turn():
            with guard:
                running += 1
                most = max(most, running)
            met.wait(60)
            with guard:
                running -= 1

    threads = [threading.Thread(target=build) for _ in range(builds)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    return most


@pytest.mark.parametrize(
    ("free", "expected"),
    [(lambda: 0.0, 1), (lambda: 2.5e9, 1), (lambda: float("inf"), 4), (lambda: 6.5e9, 2)],
)
def test_as_many_as_there_is_memory_for(free: Callable[[], float], expected: int) -> None:
    admission = Admission(free, needed=3e9, growing=math.inf)
    assert most_at_once(admission, 4, expected) == expected


def test_a_build_that_fails_leaves_its_place() -> None:
    admission = Admission(lambda: 0.0)
    for _ in range(2):
        with pytest.raises(ValueError, match="no"), admission.turn():
            raise ValueError("no")
