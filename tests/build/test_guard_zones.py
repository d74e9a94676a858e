"""The allocator with guard zones, over memory of the host: what it hands out, and what it sees."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.build import guard_zones
from grader.judge.patterns import OUTSIDE

DRIVER = Path(__file__).parent / "fake_driver.cpp"
PATTERN = OUTSIDE.to_bytes(8, "little")
FRESH = (0x7FFD7FFD7FFD7FFD).to_bytes(8, "little")
FRONT = 64 << 10
MOST = 64


class Stray(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_uint64),
        ("bytes", ctypes.c_uint64),
        ("first", ctypes.c_int64),
        ("last", ctypes.c_int64),
        ("count", ctypes.c_uint64),
    )


class Zones:
    """The library and its driver, with nothing allocated."""

    def __init__(self, folder: Path, library: Path, driver: Path) -> None:
        own = [Path(shutil.copy(path, folder)) for path in (library, driver)]
        self.lib, self.driver = (ctypes.CDLL(str(path)) for path in own)
        self.lib.kgz_alloc.restype = ctypes.c_void_p
        self.lib.kgz_alloc.argtypes = [ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p]
        self.lib.kgz_free.argtypes = [
            ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p,
        ]  # fmt: skip
        self.lib.kgz_held.restype = self.driver.fake_taken.restype = ctypes.c_size_t
        self.driver.fake_limit.argtypes = [ctypes.c_size_t]
        assert self.lib.kgz_open(str(own[1]).encode()) == 0

    def alloc(self, size: int) -> int:
        return self.lib.kgz_alloc(size, 0, None) or 0

    def free(self, data: int, size: int) -> None:
        self.lib.kgz_free(data, size, 0, None)

    def look(self) -> list[tuple[int, int, int, int, int]]:
        out = (Stray * MOST)()
        count = self.lib.kgz_look(out, MOST)
        assert count >= 0
        return [(s.data, s.bytes, s.first, s.last, s.count) for s in out[:count]]


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Zones]:
    gxx = shutil.which("g++")
    if gxx is None:
        pytest.skip("no g++")
    folder = tmp_path_factory.mktemp("zones")
    library = guard_zones.build(folder, Path(gxx))
    driver = folder / "driver.so"
    subprocess.run([gxx, "-shared", "-fPIC", "-O1", str(DRIVER), "-o", str(driver)], check=True)
    return lambda: Zones(tmp_path_factory.mktemp("one"), library, driver)


@pytest.fixture
def zones(make: Callable[[], Zones]) -> Zones:
    return make()


def around(data: int, size: int, reach: int = FRONT) -> tuple[bytes, bytes]:
    return ctypes.string_at(data - reach, reach), ctypes.string_at(data + size, reach)


def pattern(at: int, size: int) -> bytes:
    start = at % 8
    return (PATTERN * (size // 8 + 2))[start : start + size]


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 510, 513, 4000, 100_001, 3 << 20, 20 << 20])
def test_a_block_is_poison_between_poison(zones: Zones, size: int) -> None:
    data = zones.alloc(size)
    assert data % 512 == 0
    before, after = around(data, size)
    assert before == pattern(data - FRONT, FRONT)
    assert after == pattern(data + size, FRONT)
    assert ctypes.string_at(data, size) == (FRESH * (size // 8 + 1))[:size]
    assert zones.look() == []


def test_no_bytes_are_no_memory(zones: Zones) -> None:
    assert zones.alloc(0) == 0
    zones.free(0, 0)


@pytest.mark.parametrize("offset", [-FRONT, -4, -1, 1000, 1001, 1003, 1000 + FRONT - 1])
def test_a_stray_write_is_told_once_and_the_zone_is_filled_again(zones: Zones, offset: int) -> None:
    data = zones.alloc(1000)
    others = [zones.alloc(1000) for _ in range(5)]
    ctypes.memset(data + offset, 0, 1)
    assert zones.look() == [(data, 1000, offset, offset, 1)]
    assert zones.look() == []
    assert around(data, 1000)[1] == pattern(data + 1000, FRONT)
    assert len({data, *others}) == 6


def test_all_of_a_tail_is_told(zones: Zones) -> None:
    data = zones.alloc(4000)
    ctypes.memset(data + 3960, 0, 100)
    assert zones.look() == [(data, 4000, 4000, 4059, 60)]


def test_what_was_freed_is_looked_at_and_given_out_again_only_when_the_gpu_was_idle(
    zones: Zones,
) -> None:
    data = zones.alloc(4000)
    ctypes.memset(data, 7, 4000)
    zones.free(data, 4000)
    other = zones.alloc(4000)
    assert other != data
    assert ctypes.string_at(data, 4000) == b"\x07" * 4000  # a stream may still read it
    ctypes.memset(data + 4000, 0, 8)
    assert zones.look() == [(data, 4000, 4000, 4007, 8)]
    again = zones.alloc(3900)
    assert again == data
    assert around(again, 3900)[1] == pattern(again + 3900, FRONT)
    assert ctypes.string_at(again, 16) == FRESH * 2


def test_memory_of_a_graph_is_never_given_out_again(zones: Zones) -> None:
    zones.driver.fake_capture(1)
    data = zones.alloc(4000)
    assert data
    assert zones.driver.fake_mode() == 0, "the thread's mode is as it was"
    zones.free(data, 4000)
    assert zones.lib.kgz_look(None, 0) == -1
    zones.driver.fake_capture(0)
    assert zones.look() == []
    assert zones.alloc(4000) != data
    ctypes.memset(data - 4, 0, 4)
    assert zones.look() == [(data, 4000, -4, -1, 4)]


def test_a_lost_gpu_is_no_stray_write(zones: Zones) -> None:
    zones.alloc(4000)
    zones.driver.fake_lose(1)
    assert zones.lib.kgz_look(None, 0) == -1


def test_a_driver_that_is_not_there(zones: Zones) -> None:
    assert zones.lib.kgz_open(b"libno-such-driver.so.1") == -1


def test_small_blocks_share_what_is_asked_of_the_driver(zones: Zones) -> None:
    for _ in range(100):
        zones.alloc(1000)
    assert zones.driver.fake_taken() == zones.lib.kgz_held() == 64 << 20


def test_freed_memory_serves_before_there_is_none(zones: Zones) -> None:
    zones.driver.fake_limit(64 << 20)
    held = [zones.alloc(6 << 20) for _ in range(8)]
    assert all(held)
    for data in held:
        zones.free(data, 6 << 20)
    assert zones.alloc(6 << 20) in held


Step = tuple[str, int, int]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(("alloc", "alloc", "free", "write", "stray", "look")),
        st.integers(1, 300_000),
        st.integers(0, 1 << 16),
    ),
    max_size=40,
)


@settings(max_examples=30, deadline=None)
@given(steps=STEPS)
def test_every_stray_write_is_seen_and_no_other(
    make: Callable[[], Zones], steps: list[Step]
) -> None:
    zones, live, strays = make(), {}, {}
    for what, size, pick in steps:
        blocks = sorted(live.items())
        if what == "alloc":
            data = zones.alloc(size)
            assert data % 512 == 0
            assert all(data + size <= d - FRONT or d + s <= data - FRONT for d, s in blocks)
            live[data] = size
        elif what == "look":
            assert {s[0]: s[2:] for s in zones.look()} == strays
            strays = {}
        elif blocks:
            data, room = blocks[pick % len(blocks)]
            if what == "free":
                zones.free(data, live.pop(data))
            elif what == "write":
                ctypes.memset(data, pick % 256, room)
            elif data not in strays:
                behind = bool(size % 2)
                offset = room + pick % FRONT if behind else -1 - pick % FRONT
                ctypes.memset(data + offset, 0x55, 1)
                strays[data] = (offset, offset, 1)
    assert {s[0]: s[2:] for s in zones.look()} == strays
