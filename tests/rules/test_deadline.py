"""A rule that does not end is ended, and nothing else is."""

import itertools
import time

import pytest

from grader.rules.deadline import TooSlowError, deadline


def test_what_takes_too_long_is_ended() -> None:
    with pytest.raises(TooSlowError), deadline(0.01):
        for _ in itertools.count():
            pass


def test_waiting_is_not_counted() -> None:
    with deadline(0.5):
        time.sleep(1.2)


def test_nothing_comes_after_the_block() -> None:
    for _ in range(3):
        with pytest.raises(TooSlowError), deadline(0.0):
            for _ in itertools.count():
                pass
        with deadline(60.0):
            sum(range(1000))
