"""Cores and memory of a container, told by files like the kernel's."""

from __future__ import annotations

import math
import os
from pathlib import Path

import pytest

from grader.machine import cores, free_memory

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
