"""Whatever ends a grading, what was finished is kept, and going on ends where it would have."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.whole import TEXT_ONLY, command, environment, grade, outcome, write_samples

SAMPLES = 16
KILLS = 3


def _rows(folder: Path) -> int:
    path = folder / "results.jsonl"
    return path.read_bytes().count(b"\n") if path.is_file() else 0


def _killed(arguments: list[str], variables: dict[str, str], folder: Path, delay: float) -> bool:
    """Start the program, kill it `delay` seconds after its first new row; False if it was done."""
    before = _rows(folder)
    process = subprocess.Popen(
        arguments, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while process.poll() is None and _rows(folder) == before:
        time.sleep(0.002)
    try:
        process.wait(delay)
    except subprocess.TimeoutExpired:
        process.kill()
    return process.wait() == -signal.SIGKILL


@pytest.mark.slow
def test_kills_lose_no_row_and_double_none(tmp_path: Path) -> None:
    samples = write_samples(tmp_path / "samples", SAMPLES)
    whole = grade(samples, *TEXT_ONLY, "--out", tmp_path / "whole", cache=tmp_path / "cache_1")
    assert whole.returncode == 0, whole.stderr
    killed = tmp_path / "killed"
    chance = random.Random(9)
    arguments = command(samples, *TEXT_ONLY, "--out", killed, "--jobs", "2")
    variables = environment(tmp_path / "cache_2")
    kills = sum(_killed(arguments, variables, killed, chance.uniform(0, 0.1)) for _ in range(KILLS))
    assert kills >= 2
    assert _rows(killed) > 0
    assert grade(samples, *TEXT_ONLY, "--out", killed, cache=tmp_path / "cache_2").returncode == 0
    assert outcome(killed) == outcome(tmp_path / "whole")


def _children(process: int) -> set[int]:
    """Return all descendants that are alive."""
    found: set[int] = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == process and fields[0] != "Z":
            child = int(path.parent.name)
            found |= {child} | _children(child)
    return found


def _alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


SLEEPER = """import time
import torch
open("/tmp/begun", "w").close()
time.sleep(600)


class ModelNew(torch.nn.Module):
    pass
"""


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_ctrl_c_keeps_what_is_finished_and_leaves_no_process(tmp_path: Path) -> None:
    samples = write_samples(tmp_path / "samples", 2)
    (samples / "zz_sleeper_1.py").write_text(SLEEPER)
    (samples / "zz_sleeper_2.py").write_text(SLEEPER + "# another\n")
    for path in samples.glob("sample_*"):
        path.write_text("No code at all.")
    folder = tmp_path / "run"
    process = subprocess.Popen(
        command(samples, "--device", "sim", "--out", folder, "--jobs", "2"),
        env={**os.environ, "COLUMNS": "200"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    seen: set[int] = set()
    end = time.monotonic() + 400
    # Two guests: each has at least the process that stays with it and its own.
    while time.monotonic() < end and (len(seen) < 8 or _rows(folder) < 2):
        seen = _children(process.pid)
        time.sleep(0.2)
    if process.poll() == 3:
        pytest.skip("no simulator here")
    time.sleep(2)
    seen |= _children(process.pid)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=120)[1]
    assert process.returncode == 130, said
    assert "what was finished is kept" in said
    assert _rows(folder) == 2
    end = time.monotonic() + 60
    while time.monotonic() < end and any(map(_alive, seen)):
        time.sleep(0.1)
    assert [pid for pid in seen if _alive(pid)] == []
