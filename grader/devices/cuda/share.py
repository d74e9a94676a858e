"""Who may use a GPU now: a few guests at once, or one alone, across all graders of a user.

Results don't depend on neighbours, time does: guests that only compute share a GPU, one that is
timed has it alone. Whoever wants it alone keeps newcomers out while those that are there end.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from filelock import FileLock, Timeout

from grader.devices.cuda.gpu import GpuFacts

T = TypeVar("T")
FEWEST = 4
"""Guests that may compute on one GPU at once, however small it is."""
ROOM = 5 << 30
"""Bytes of a GPU's memory that each guest beyond those should find."""
_WAIT = 0.05


@contextlib.contextmanager
def hold_seat(gpus: tuple[GpuFacts, ...], folder: Path) -> Iterator[GpuFacts]:
    """Wait for a seat on one of the GPUs, the emptiest first, and hold it."""
    folder.mkdir(parents=True, exist_ok=True)
    while True:
        for seat, gpu in _in_turn(gpus):
            lock = _seat(folder, gpu, seat)
            if _enter(_door(folder, gpu), lock):
                try:
                    yield gpu
                finally:
                    lock.release()
                return
        time.sleep(_WAIT)


@contextlib.contextmanager
def alone(gpus: tuple[GpuFacts, ...], folder: Path) -> Iterator[GpuFacts]:
    """Wait until one of the GPUs has no guest of any grader of this user, and hold it."""
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as held:
        gpu = _shut_one(gpus, folder, held)
        for seat in range(seats(gpu)):
            held.enter_context(_seat(folder, gpu, seat))
        yield gpu


def seats(gpu: GpuFacts) -> int:
    """Return how many guests may compute on a GPU at once: as many as have a core and room in its memory."""
    return max(FEWEST, min(os.cpu_count() or 1, gpu.memory // ROOM))


def _in_turn(gpus: tuple[GpuFacts, ...]) -> list[tuple[int, GpuFacts]]:
    """Return all seats of the GPUs, the first of each before the second of any."""
    every = ((seat, gpu) for gpu in gpus for seat in range(seats(gpu)))
    return sorted(every, key=lambda one: one[0])


def shared_then_alone(
    gpus: tuple[GpuFacts, ...],
    folder: Path,
    work: Callable[[GpuFacts], T],
    crowded: Callable[[T], bool],
) -> T:
    """Do it beside others; once more alone where what came of it could be its neighbours' fault."""
    with hold_seat(gpus, folder) as gpu:
        done = work(gpu)
    if not crowded(done):
        return done
    with alone(gpus, folder) as gpu:
        return work(gpu)


def _shut_one(gpus: tuple[GpuFacts, ...], folder: Path, held: contextlib.ExitStack) -> GpuFacts:
    """Shut the door of a GPU that nobody else wants alone; one without guests, if there is one."""
    while True:
        for gpu in sorted(gpus, key=lambda one: not _empty(folder, one)):
            door = _door(folder, gpu)
            if _try(door):
                held.callback(door.release)
                return gpu
        time.sleep(_WAIT)


def _enter(door: FileLock, seat: FileLock) -> bool:
    """Take a seat if the door is open and the seat free."""
    if not _try(door):
        return False
    try:
        return _try(seat)
    finally:
        door.release()


def _empty(folder: Path, gpu: GpuFacts) -> bool:
    first = _seat(folder, gpu, 0)
    if not _try(first):
        return False
    first.release()
    return True


def _try(lock: FileLock) -> bool:
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return False
    return True


def _door(folder: Path, gpu: GpuFacts) -> FileLock:
    return FileLock(folder / f"{gpu.uuid}.lock")


def _seat(folder: Path, gpu: GpuFacts, seat: int) -> FileLock:
    return FileLock(folder / f"{gpu.uuid}-{seat}.lock", poll_interval=_WAIT)
