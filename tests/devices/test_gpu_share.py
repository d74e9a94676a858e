"""Several guests share a GPU, a timed one has it alone: whoever asks, in whatever order."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from filelock import FileLock, Timeout
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.devices.cuda import share as gpu_share
from grader.devices.cuda.gpu import GpuFacts


def a_gpu(uuid: str) -> GpuFacts:
    return GpuFacts(uuid, "a GPU", "9.0", "1", 1 << 30)


class Seen:
    """Who is on which GPU, and what was never to be seen."""

    def __init__(self) -> None:
        self.on: Counter[tuple[str, bool]] = Counter()
        self.most = 0
        self.wrong: list[str] = []
        self._lock = threading.Lock()

    def come(self, uuid: str, *, alone: bool) -> None:
        with self._lock:
            self.on[uuid, alone] += 1
            shared, single = self.on[uuid, False], self.on[uuid, True]
            self.most = max(self.most, shared)
            if single > 1 or (single and shared) or shared > gpu_share.FEWEST:
                self.wrong.append(f"{uuid}: {shared} share, {single} alone")

    def go(self, uuid: str, *, alone: bool) -> None:
        with self._lock:
            self.on[uuid, alone] -= 1


@settings(max_examples=10, deadline=None)
@given(asked=st.lists(st.booleans(), min_size=1, max_size=12), gpus=st.integers(1, 2))
def test_one_that_is_alone_has_no_neighbour(
    tmp_path_factory: pytest.TempPathFactory, asked: list[bool], gpus: int
) -> None:
    folder = tmp_path_factory.mktemp("locks")
    all_gpus = tuple(a_gpu(f"gpu-{number}") for number in range(gpus))
    seen = Seen()

    def use(alone: bool) -> None:
        way = gpu_share.alone if alone else gpu_share.hold_seat
        with way(all_gpus, folder) as gpu:
            seen.come(gpu.uuid, alone=alone)
            time.sleep(0.01)
            seen.go(gpu.uuid, alone=alone)

    with ThreadPoolExecutor(len(asked)) as pool:
        list(pool.map(use, asked))
    assert seen.wrong == []
    assert not any(seen.on.values())


def test_guests_that_compute_are_there_at_once(tmp_path: Path) -> None:
    gpus = (a_gpu("one"),)
    seats = gpu_share.seats(gpus[0])
    together = threading.Barrier(seats, timeout=60)

    def use(_: int) -> None:
        with gpu_share.hold_seat(gpus, tmp_path):
            together.wait()  # breaks where one of them is kept out

    with ThreadPoolExecutor(seats) as pool:
        list(pool.map(use, range(seats)))


@pytest.mark.parametrize(
    ("memory", "cores", "seats"), [(8, 64, 4), (80, 16, 16), (80, 2, 4), (40, 16, 8)]
)
def test_a_guest_has_a_core_and_room_on_the_gpu(
    monkeypatch: pytest.MonkeyPatch, memory: int, cores: int, seats: int
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    assert gpu_share.seats(GpuFacts("one", "a GPU", "9.0", "1", memory << 30)) == seats


def test_newcomers_wait_behind_one_that_wants_it_alone(tmp_path: Path) -> None:
    gpus = (a_gpu("one"),)
    order: list[str] = []
    wants = threading.Event()

    def alone() -> None:
        wants.set()
        with gpu_share.alone(gpus, tmp_path):
            order.append("alone")

    def newcomer() -> None:
        with gpu_share.hold_seat(gpus, tmp_path):
            order.append("newcomer")

    with gpu_share.hold_seat(gpus, tmp_path):
        first = threading.Thread(target=alone)
        first.start()
        wants.wait()
        while not _shut(tmp_path):
            time.sleep(0.01)
        second = threading.Thread(target=newcomer)
        second.start()
        time.sleep(0.2)
        assert order == []
    first.join()
    second.join()
    assert order == ["alone", "newcomer"]


def _shut(folder: Path) -> bool:
    try:
        with FileLock(folder / "one.lock", timeout=0):
            return False
    except Timeout:
        return True


def test_an_idle_gpu_is_taken_before_a_busy_one(tmp_path: Path) -> None:
    gpus = (a_gpu("one"), a_gpu("two"))
    with gpu_share.hold_seat(gpus, tmp_path) as first:
        with gpu_share.hold_seat(gpus, tmp_path) as second:
            assert {first.uuid, second.uuid} == {"one", "two"}
        with gpu_share.alone(gpus, tmp_path) as third:
            assert third.uuid != first.uuid
