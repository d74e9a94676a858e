"""`--watch`: what is saved is graded again."""

import json
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from grader.cli.watch import saves
from grader.errors import UsageError

ROOT = Path(__file__).parents[2]
PROGRAM = [sys.executable, str(ROOT / "grade.py")]


def wait_for(condition, seconds: float = 120.0) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it never happened"
        time.sleep(0.1)


def rows(folder: Path) -> list[dict[str, object]]:
    path = folder / "results.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_a_save_is_graded_and_an_interrupt_ends_it(tmp_path: Path) -> None:
    sample, out = tmp_path / "mine.txt", tmp_path / "reviews"
    sample.write_text("I can't write this kernel.")
    command = [*PROGRAM, str(sample), "--device", "none", "--out", str(out), "--watch"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        try:
            wait_for(lambda: [row["status"] for row in rows(out)] == ["no_code"])
            first = rows(out)[0]["key"]
            wait_for((out / "README.md").exists)
            time.sleep(1.0)  # it says nothing when it starts to watch
            sample.write_text("Sorry, no kernel either.")
            wait_for(lambda: bool(rows(out)) and rows(out)[-1]["key"] != first)
        finally:
            running.send_signal(signal.SIGINT)
        assert running.wait(30) == 130


def test_its_own_reviews_and_editors_files_start_nothing(tmp_path: Path) -> None:
    out, stop = tmp_path / "reviews", threading.Event()
    out.mkdir()
    seen: list[int] = []
    watching = threading.Thread(target=lambda: seen.extend(saves([str(tmp_path)], out, stop)))
    watching.start()
    time.sleep(0.5)
    (out / "x.md").write_text("a review")
    (tmp_path / "mine.py.swp").write_text("an editor's")
    time.sleep(1.0)
    assert not seen
    (tmp_path / "mine.py").write_text("mine")
    wait_for(lambda: seen == [1], 20)
    stop.set()
    watching.join(20)


def test_standard_input_cannot_be_watched(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="standard input"):
        next(saves(["-"], tmp_path))
