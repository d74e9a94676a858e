"""Cores and memory of a container, told by files like the kernel's."""

from __future__ import annotations

import math
import os
import tempfile
from pathlib import Path

import pytest

from grader.machine import cache_home, cores, free_memory

HERE = len(os.sched_getaffinity(0))


def written(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_DOT_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, HERE),
        ({"cpu_DOT_max": "max 100000\n"}, HERE),
        ({"cpu_DOT_max": "50000 100000\n"}, 1),
        ({"cpu_DOT_max": "100000 100000\n"}, 1),
        ({"cpu_DOT_max": "99900000 100000\n"}, HERE),
        ({"cpu_DOT_max": "rubbish\n"}, HERE),
        ({"cpu__cpu_DOT_cfs_quota_us": "-1\n", "cpu__cpu_DOT_cfs_period_us": "100000\n"}, HERE),
        ({"cpu__cpu_DOT_cfs_quota_us": "90000\n", "cpu__cpu_DOT_cfs_period_us": "100000\n"}, 1),
    ],
)
def test_cores(tmp_path: Path, files: dict[str, str], expected: int) -> None:
    assert cores(written(tmp_path, **files)) == expected


def test_memory_is_what_the_kernel_says_within_the_containers_limit(tmp_path: Path) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal:       8000000 kB\nMemAvailable:   4000000 kB\n")
    assert free_memory(tmp_path / "none", meminfo) == 4_096_000_000
    two = written(tmp_path / "two", memory_DOT_max="3000\n", memory_DOT_current="2000\n")
    assert free_memory(two, meminfo) == 1000
    written(two, memory_DOT_stat="anon 1\ninactive_file 500\n")
    assert free_memory(two, meminfo) == 1500
    unlimited = written(tmp_path / "three", memory_DOT_max="max\n", memory_DOT_current="2000\n")
    assert free_memory(unlimited, meminfo) == 4_096_000_000
    one = tmp_path / "one"
    written(
        one, memory__memory_DOT_limit_in_bytes="900\n", memory__memory_DOT_usage_in_bytes="1000\n"
    )
    assert free_memory(one, meminfo) == 0
    assert free_memory(tmp_path / "none", tmp_path / "nothing") == math.inf


@pytest.fixture
def spare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    return tmp_path / f"kernel-grader-cache-{os.geteuid()}"


def test_a_home_that_can_be_written_keeps_the_cache(
    spare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "not" / "made"))
    assert cache_home() == tmp_path / "not" / "made" / ".cache" / "kernel-grader"
    assert not spare.exists()


@pytest.mark.parametrize("home", ["/dev/null", None])
def test_a_user_without_a_home_has_the_cache_among_temporary_files(
    home: str | None, spare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if home:
        monkeypatch.setenv("HOME", home)
    else:  # an id that the list of users doesn't know, as containers are started with
        monkeypatch.delenv("HOME", raising=False)
        monkeypatch.setattr(os, "getuid", lambda: 54321)
    assert cache_home() == spare
    assert not spare.stat().st_mode & 0o022


@pytest.mark.parametrize("found", ["a link", "open to all", "a file"])
def test_a_folder_that_others_may_write_to_is_not_taken(
    found: str, spare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/dev/null")
    if found == "a link":
        (tmp_path / "elsewhere").mkdir()
        spare.symlink_to(tmp_path / "elsewhere")
    elif found == "open to all":
        spare.mkdir()
        spare.chmod(0o777)
    else:
        spare.write_text("")
    assert cache_home() != spare


def test_a_folder_that_was_named_is_taken_as_it_is(
    spare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null/cache")
    assert cache_home() == Path("/dev/null/cache/kernel-grader")
    assert not spare.exists()
