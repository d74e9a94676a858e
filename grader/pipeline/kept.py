"""A cache of values computed once for each task, kept while there is room."""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

T = TypeVar("T")


class Turns:
    """A lock for each name in use, so that equal work is done once at a time."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._locks: weakref.WeakValueDictionary[str, threading.Lock] = (
            weakref.WeakValueDictionary()
        )

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """Hold the name."""
        with self._guard:
            lock = self._locks.get(name) or threading.Lock()
            self._locks[name] = lock
        with lock:
            yield


class Kept(Generic[T]):
    """Values by key; the least recently used are dropped when the total weight is too large."""

    def __init__(self, limit: int, weigh: Callable[[T], int] = lambda _value: 1) -> None:
        self._limit = limit
        self._weigh = weigh
        self._turns = Turns()
        self._guard = threading.Lock()
        self._values: OrderedDict[str, tuple[T, int]] = OrderedDict()

    def get(self, key: str, make: Callable[[], T]) -> T:
        """Return the value of the key; the first caller computes it, the others wait."""
        with self._turns.of(key):
            with self._guard:
                if key in self._values:
                    self._values.move_to_end(key)
                    return self._values[key][0]
            value = make()
            with self._guard:
                self._values[key] = (value, self._weigh(value))
                self._forget()
            return value

    @property
    def weight(self) -> int:
        """Return the total weight of the kept values."""
        return sum(weight for _, weight in self._values.values())

    def _forget(self) -> None:
        """Drop the least recently used values, even if still in use; never the newest."""
        while len(self._values) > 1 and self.weight > self._limit:
            self._values.popitem(last=False)
