"""A guest's allocator: exchanged where that can be, done without where not, tensors called by their roles."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import torch

from grader.build import guard_zones as building
from grader.guest import guard_zones
from grader.guest.guard_zones import GuardZones
from grader.guest.placement import Gpu

DRIVER = Path(__file__).parents[1] / "build" / "fake_driver.cpp"


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The library, on a driver that takes the host's memory, and a torch that takes any allocator."""
    gxx = shutil.which("g++")
    if gxx is None:
        pytest.skip("no g++")
    driver = tmp_path / "driver.so"
    subprocess.run([gxx, "-shared", "-fPIC", str(DRIVER), "-o", str(driver)], check=True)
    monkeypatch.setattr(guard_zones, "DRIVER", str(driver).encode())
    monkeypatch.setattr(torch._C, "_cuda_customAllocator", lambda *_: object(), raising=False)
    monkeypatch.setattr(torch._C, "_cuda_changeCurrentAllocator", lambda _: None, raising=False)
    return building.build(tmp_path, Path(gxx))


def tensor(zones: GuardZones, size: int) -> torch.Tensor:
    allocate = zones._library.kgz_alloc
    allocate.restype = ctypes.c_void_p
    allocate.argtypes = [ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p]
    memory = (ctypes.c_uint8 * size).from_address(allocate(size, 0, None))
    return torch.frombuffer(memory, dtype=torch.uint8)


def test_tensors_have_the_first_of_their_roles(library: Path) -> None:
    zones = GuardZones(str(library))
    assert zones.why_not == ""
    given, made, other = (tensor(zones, size) for size in (1000, 2000, 3000))
    for one, offset in ((given, -1), (made, 2000), (other, 3004)):
        ctypes.memset(one.data_ptr() + offset, 0, 1)
    zones.look([("input 1", given), ("a number", 3), ("output 1", made), ("w", given)])
    told = sorted(zones.report()["strays"], key=lambda stray: stray["bytes"])
    assert [stray["role"] for stray in told] == ["input 1", "output 1", ""]
    assert [(stray["bytes"], stray["first"]) for stray in told] == [
        (1000, -1),
        (2000, 2000),
        (3000, 3004),
    ]
    zones.look([])
    assert zones.report() == {"why_not": "", "strays": []}


def test_a_model_that_does_not_name_its_tensors_hides_none(library: Path) -> None:
    def roles() -> Any:
        raise ValueError
        yield

    zones = GuardZones(str(library))
    ctypes.memset(tensor(zones, 1000).data_ptr() + 1000, 0, 1)
    zones.look(roles())
    (stray,) = zones.report()["strays"]
    assert stray == {"role": "", "bytes": 1000, "first": 1000, "last": 1000, "count": 1}


def test_without_the_library_torchs_own_allocator_stays(tmp_path: Path) -> None:
    place = Gpu(str(tmp_path / "none.so"))
    place.look_around([])
    assert place.zones()["why_not"].startswith("OSError")
    assert place.zones()["strays"] == []
    assert Gpu().zones() is None


def test_a_torch_that_takes_no_allocator_keeps_its_own(
    library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: object) -> None:
        raise RuntimeError("Can't swap an already initialized allocator")

    monkeypatch.setattr(torch._C, "_cuda_changeCurrentAllocator", refuse, raising=False)
    assert "already initialized" in GuardZones(str(library)).why_not
