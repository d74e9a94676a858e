"""The server under load, scaled down from `benchmarks/serve_load.py`: each request is answered once."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from benchmarks.serve_load import full_disk, hostile, load, programs, serving, small_disk

QUICK = ("--device", "none", "--jobs", "3", "--queue", "8")


@pytest.mark.slow
def test_killed_workers_lose_no_request_and_a_large_body_is_refused(tmp_path: Path) -> None:
    with serving(tmp_path / "token", tmp_path / "cache", *QUICK) as server:
        tally = asyncio.run(load(server, programs(4), requests=80, clients=16, kill_every=2.0))
        assert not tally.wrong
        assert sum(tally.verdicts.values()) == len(tally.seconds) == 80
        assert tally.retries[429], "sixteen clients are more than the queue holds"
        assert not asyncio.run(hostile(server, slow=0))


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
def test_a_full_disk_is_a_clear_retry(tmp_path: Path) -> None:
    try:
        with (
            small_disk(tmp_path / "disk", 50) as disk,
            serving(tmp_path / "token", disk / "cache", *QUICK) as server,
        ):
            assert not asyncio.run(full_disk(server, disk, programs(1)[0]))
    except PermissionError as error:
        pytest.skip(f"no file system can be mounted here: {error}")
