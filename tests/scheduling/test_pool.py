"""Several processes of this machine grade as one would, whatever becomes of them."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from grader.config import Options
from grader.records import Sample
from grader.scheduling import pool
from grader.scheduling.messages import Request, Settings
from grader.scheduling.worker import LostError, WorkerProcess
from grader.tasks import builtin_tasks
from tests.whole import TEXT_ONLY, command, environment, grade, outcome, transcript, write_samples


def _sample(text: str) -> Sample:
    return Sample(id="answer", origin="here", format="transcript", text=text)


def _members(cache: Path) -> list[int]:
    """Return the crew's other processes that work with this store."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            ours = b"grader.scheduling.worker_process" in path.read_bytes()
            own = bytes(cache) in (path.parent / "environ").read_bytes()
        except OSError:
            continue
        found += [int(path.parent.name)] if ours and own else []
    return found


def _until(what: str, holds: object, seconds: float = 60.0) -> None:
    assert callable(holds)
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"not within {seconds} s: {what}"
        time.sleep(0.01)


def test_half_a_surrogate_pair_travels() -> None:
    order = Request(sample=_sample("x \ud800 y"))
    assert Request.of(order.line()) == order
    assert order.line().isascii()


def test_a_task_travels_whole() -> None:
    """Its inputs are specs on the other side as well: as plain JSON a submission would be called with them."""
    for task in builtin_tasks().values():
        order = Request(sample=_sample("code"), task=task)
        assert Request.of(order.line()) == order


@pytest.mark.parametrize(
    ("present", "device", "jobs"), [(2, "sim", 3), (4, "sim", 4), (2, "cuda", 2)]
)
def test_few_cores_that_simulate_grade_one_sample_more(
    present: int, device: str, jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "cores", lambda: present)
    grading: Any = SimpleNamespace(options=Options(), device=SimpleNamespace(name=device))
    assert pool.open_local(grading).jobs == jobs


def test_three_processes_say_what_one_says(tmp_path: Path) -> None:
    samples = write_samples(tmp_path / "samples", 12)
    one = grade(samples, *TEXT_ONLY, "--jobs", "1", "--out", tmp_path / "one", cache=tmp_path / "a")
    three = grade(
        samples, *TEXT_ONLY, "--jobs", "3", "--out", tmp_path / "three", cache=tmp_path / "b"
    )
    assert (one.returncode, three.returncode) == (0, 0), one.stderr + three.stderr
    assert outcome(tmp_path / "three") == outcome(tmp_path / "one")
    assert not _members(tmp_path / "b")


def test_killed_processes_lose_no_sample(tmp_path: Path) -> None:
    samples = write_samples(tmp_path / "samples", 48)
    cache = tmp_path / "cache"
    run = [*command(samples, *TEXT_ONLY, "--jobs", "3", "--out", tmp_path / "run")]
    process = subprocess.Popen(run, env=environment(cache), stdout=subprocess.DEVNULL)
    killed = 0
    while process.poll() is None and killed < 3:
        for pid in _members(cache)[:1]:
            time.sleep(0.5)
            subprocess.run(["kill", "-9", str(pid)], check=False)
            killed += 1
    assert process.wait(120) == 0
    assert killed >= 2
    grade(samples, *TEXT_ONLY, "--jobs", "1", "--out", tmp_path / "whole", cache=tmp_path / "other")
    assert outcome(tmp_path / "run") == outcome(tmp_path / "whole")


def test_they_end_with_the_one_that_leads(tmp_path: Path) -> None:
    samples = write_samples(tmp_path / "samples", 200)
    cache = tmp_path / "cache"
    run = command(samples, *TEXT_ONLY, "--jobs", "3", "--out", tmp_path / "run")
    process = subprocess.Popen(run, env=environment(cache), stdout=subprocess.DEVNULL)
    _until("two members", lambda: len(_members(cache)) == 2)
    process.kill()
    process.wait()
    _until("none left", lambda: not _members(cache))


def test_a_process_that_can_not_start_is_lost_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    hand = WorkerProcess(Settings(options=Options(cache=tmp_path), seed=1, processes=2), lines=1)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(LostError, match="ended with status 1"):
        hand.ask(0, Request(sample=_sample("no code")), lambda _stage: None)


def test_nothing_is_started_again_once_it_is_closed(tmp_path: Path) -> None:
    hand = WorkerProcess(Settings(options=Options(cache=tmp_path), seed=1, processes=2), lines=1)
    hand.close()
    with pytest.raises(LostError, match="was ended"):
        hand.ask(0, Request(sample=_sample("no code")), lambda _stage: None)


def test_stages_and_the_review_come_back(tmp_path: Path) -> None:
    hand = WorkerProcess(
        Settings(options=Options(device="none", cache=tmp_path), seed=1, processes=2), lines=1
    )
    stages: list[str] = []
    order = Request(sample=_sample(transcript(3)), folder=str(tmp_path / "run"))
    written = hand.ask(0, order, stages.append).written
    assert written is not None
    assert written.status == json.loads(written.row)["status"] == "no_task"
    assert (tmp_path / "run" / "data" / "answer.json").is_file()
    assert not (tmp_path / "run" / "results.jsonl").exists()
    assert stages[0] == "read"
    hand.close()
