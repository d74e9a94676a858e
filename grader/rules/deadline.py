"""A CPU time limit for a block of Python, which ends a rule on a hostile text."""

import ctypes
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

LOOK = 0.5
"""Seconds between two checks of the threads with a deadline."""


class TooSlowError(Exception):
    """The block has used up its time."""


@dataclass
class _Watched:
    clock: int
    end: float
    """CPU seconds of the thread."""
    told: bool = False


_lock = threading.Lock()
_watched: dict[int, _Watched] = {}
_watcher: list[threading.Thread] = []


@contextmanager
def deadline(seconds: float) -> Iterator[Callable[[], bool]]:
    """Raise TooSlowError in this thread after `seconds` of CPU time inside the block.

    Yields a function that tells whether time is up: the error is raised once, and a handler may continue. Code in C is
    not interrupted. Blocks of one thread don't nest.
    """
    thread = threading.get_ident()
    with _lock:
        mine = _watched[thread] = _Watched(
            time.pthread_getcpuclockid(thread), time.thread_time() + seconds
        )
        if not _watcher or not _watcher[0].is_alive():
            _watcher[:] = [threading.Thread(target=_watch, name="deadlines", daemon=True)]
            _watcher[0].start()
    try:
        yield lambda: mine.told
    finally:
        with _lock:
            if _watched.pop(thread).told:
                # The exception may not have been raised yet, and must not be raised later.
                _raise(thread, None)


def _watch() -> None:
    """Check the threads until none has a deadline."""
    while True:
        time.sleep(LOOK)
        with _lock:
            if not _watched:
                _watcher.clear()
                return
            for thread, one in _watched.items():
                if not one.told and time.clock_gettime(one.clock) > one.end:
                    one.told = True
                    _raise(thread, TooSlowError)


def _raise(thread: int, error: type[Exception] | None) -> None:
    given = ctypes.py_object(error) if error is not None else None
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), given)
