"""Sharing of a GPU across all graders of a user: a few guests at once, or one alone.

Other guests affect times but not results: guests that only compute share a GPU, a timed one has it alone. A request for
exclusive use keeps new guests out while the present ones end.
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
"""Number of guests that may compute on one GPU at once, of any size."""
ROOM = 5 << 30
"""Bytes of GPU memory that each further guest requires."""
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
    """Wait until one of the GPUs has no guest of this user's graders, and hold it."""
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as held:
        gpu = _shut_one(gpus, folder, held)
        for seat in range(seats(gpu)):
            held.enter_context(_seat(folder, gpu, seat))
        yield gpu


def seats(gpu: GpuFacts) -> int:
    """Return the number of guests that may compute on a GPU at once, limited by cores and its memory."""
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
    """Run a job beside others; repeat it alone where the outcome could be the others' fault."""
    with hold_seat(gpus, folder) as gpu:
        done = work(gpu)
    if not crowded(done):
        return done
    with alone(gpus, folder) as gpu:
        return work(gpu)


def _shut_one(gpus: tuple[GpuFacts, ...], folder: Path, held: contextlib.ExitStack) -> GpuFacts:
    """Close a GPU for new guests, one without guests if possible, unless another request has done so."""
    while True:
        for gpu in sorted(gpus, key=lambda one: not _empty(folder, one)):
            door = _door(folder, gpu)
            if _try(door):
                held.callback(door.release)
                return gpu
        time.sleep(_WAIT)


def _enter(door: FileLock, seat: FileLock) -> bool:
    """Take a seat if the GPU is open and the seat free."""
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
