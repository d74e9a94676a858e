"""A cluster gives the results of one process, whatever happens to its workers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from grader.scheduling.cluster import Packed, pack, unpack
from grader.store import Store
from tests.whole import TEXT_ONLY, command, environment, grade, outcome, write_samples

ray = pytest.importorskip("ray")


def test_a_build_travels_whole_and_only_once(tmp_path: Path) -> None:
    here, there = Store(tmp_path / "here"), Store(tmp_path / "there")
    folder = here.builds / "abc"
    (folder / "extensions" / "x").mkdir(parents=True)
    (folder / "extensions" / "x" / "x.so").write_bytes(b"\0" * 100)
    (folder / "build.json").write_text("{}")
    packed = pack(here, "abc")
    assert packed is not None
    unpack(there, packed)
    made = there.builds / "abc"
    assert (made / "extensions" / "x" / "x.so").read_bytes() == b"\0" * 100
    unpack(there, Packed("abc", b"no archive: never opened"))
    assert [path.name for path in there.builds.iterdir()] == ["abc"]
    assert pack(here, "absent") is None


def test_this_program_does_not_import_ray() -> None:
    code = "import sys, grader.cli, grader.scheduling.run, grader.scheduling.cluster; print('ray' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def _workers() -> list[int]:
    """Return the processes of Ray that grade a sample now, of this test alone."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            grading = path.read_bytes().startswith(b"ray::_review")
            own = MARK.encode() in (path.parent / "environ").read_bytes()
        except OSError:
            continue
        found += [int(path.parent.name)] if grading and own else []
    return found


PATIENT = {
    "RAY_TMPDIR": "/tmp",
    "RAY_raylet_start_wait_time_s": "200",
    "RAY_worker_niceness": "0",
}
"""On a machine that others use as well Ray's processes are slow to start."""
COUNT = 24
MARK = f"KG_TEST={os.getpid()}"


def _same(folder: Path) -> dict[str, object]:
    """Return what a run says, without the addresses that tell a cluster from one process."""
    found = outcome(folder)
    return {k: v | {"key": ""} if isinstance(v, dict) else v for k, v in found.items()}


@pytest.mark.slow
def test_a_killed_workers_samples_are_graded_once(tmp_path: Path) -> None:
    samples = write_samples(tmp_path / "samples", COUNT)
    alone = grade(samples, *TEXT_ONLY, "--out", tmp_path / "alone", cache=tmp_path / "cache")
    assert alone.returncode == 0, alone.stderr
    name, _, number = MARK.partition("=")
    process = subprocess.Popen(
        command(samples, *TEXT_ONLY, "--out", tmp_path / "run", "--ray", "local", "--jobs", "4"),
        env=environment(tmp_path / "cache_2", **PATIENT, **{name: number}),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    killed = 0
    rows = tmp_path / "run" / "results.jsonl"
    while process.poll() is None:
        if not killed and rows.is_file() and rows.read_bytes().count(b"\n"):
            for worker in _workers()[:1]:
                os.kill(worker, signal.SIGKILL)
                killed += 1
        time.sleep(0.002)
    said = process.communicate()[0]
    assert process.returncode == 0, said
    assert killed
    assert len({json.loads(line)["sample"] for line in rows.open()}) == COUNT
    assert _same(tmp_path / "run") == _same(tmp_path / "alone")
