"""Whatever lies in a folder, and whatever this machine lacks: a verdict or a clear error, nothing lost."""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
from pathlib import Path

import pytest

from grader.cli.entry import _name_temporary_folder
from tests.whole import TEXT_ONLY, grade, outcome, transcript, write_samples

BIG = 12 * (1 << 20) // 22

HOSTILE_TEXT = """# Heading | with a pipe

<script>alert(1)</script> <img src=x onerror=alert(2)> [link](javascript:alert(3)) [/red] [bold]
| a | b |
|---|---|
``` unclosed `ticks` and \x1b[31mcolour\x1b[0m and ![picture](http://example.invalid/x.png)
"""


def _bad_files(folder: Path) -> None:
    folder.mkdir()
    (folder / "binary.txt").write_bytes(bytes(range(256)) * 5000)
    (folder / "a\nnew line.md").write_text(transcript(1))
    (folder / "[").mkdir()
    (folder / "[" / "red] <b>.md").write_text(transcript(2))
    (folder / "hostile.md").write_text(HOSTILE_TEXT + transcript(3) + HOSTILE_TEXT)
    (folder / "fences.md").write_text("```\nx = 1\n```\n\n" * 10_000 + transcript(4))
    (folder / "big.txt").write_text("All work and no play. " * BIG + transcript(5))
    (folder / "empty.txt").write_text("")
    (folder / "locked.txt").symlink_to(folder / "nowhere")
    (folder / "good.md").write_text(transcript(6))


@pytest.mark.slow
def test_a_folder_of_bad_files(tmp_path: Path) -> None:
    _bad_files(tmp_path / "samples")
    assert (tmp_path / "samples" / "big.txt").stat().st_size > 11 << 20
    run = tmp_path / "run"
    done = grade(tmp_path / "samples", *TEXT_ONLY, "--out", run, cache=tmp_path / "cache")
    assert "Traceback" not in done.stdout + done.stderr
    rows = {
        Path(row["origin"]).name: row
        for row in map(json.loads, (run / "results.jsonl").read_text().splitlines())
    }
    status = {name: row["status"] for name, row in rows.items()}
    coded = ("a\nnew line.md", "red] <b>.md", "hostile.md", "fences.md", "big.txt", "good.md")
    assert {name: status[name] for name in coded} == dict.fromkeys(coded, "no_task")
    assert status["binary.txt"] == status["empty.txt"] == "no_code"
    # What can't be read is this machine's failure; the exit code says so, and nothing else is lost.
    assert status["locked.txt"] == "grader_error"
    assert done.returncode == 3
    for page in run.glob("pages/*.html"):
        text = page.read_text()
        assert "<script>alert(1)" not in text
        assert "onerror=alert(2)>" not in text


def test_an_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "samples").mkdir()
    done = grade(tmp_path / "samples", "--out", tmp_path / "run", cache=tmp_path / "cache")
    assert done.returncode == 2
    assert "nothing to grade" in done.stderr


def test_standard_input_that_is_closed(tmp_path: Path) -> None:
    samples = write_samples(tmp_path / "samples", 1)
    done = grade(
        samples, *TEXT_ONLY, "--out", tmp_path / "run", cache=tmp_path / "cache", preexec_fn=lambda: os.close(0)
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    done = grade(
        "-", *TEXT_ONLY, "--out", tmp_path / "run", cache=tmp_path / "cache", preexec_fn=lambda: os.close(0)
    )  # fmt: skip
    assert done.returncode == 2
    assert "no standard input" in done.stderr


def test_a_folder_for_temporary_files_that_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", "/no/such/folder")
    monkeypatch.setenv("TMP", tempfile.gettempdir())
    _name_temporary_folder()
    assert os.environ["TMPDIR"] == tempfile.gettempdir() == os.environ["TMP"]


def _small_files(limit: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))


@pytest.mark.slow
def test_a_full_disk_is_said_and_loses_nothing(tmp_path: Path) -> None:
    samples = write_samples(tmp_path / "samples", 4)
    whole = grade(samples, *TEXT_ONLY, "--out", tmp_path / "whole", cache=tmp_path / "cache")
    assert whole.returncode == 0, whole.stderr
    # The store has the reviews, so what fails is the run folder's rows, in the middle of one.
    run = tmp_path / "run"
    size = (tmp_path / "whole" / "results.jsonl").stat().st_size
    biggest = max(path.stat().st_size for path in (tmp_path / "whole" / "data").iterdir())
    for limit in (biggest // 2, max(size // 2, biggest + 1)):
        full = grade(
            samples, *TEXT_ONLY, "--out", run, "--jobs", "1",
            cache=tmp_path / "cache", preexec_fn=lambda limit=limit: _small_files(limit),
        )  # fmt: skip
        assert full.returncode == 3, full.stderr
        assert "can't write to" in full.stderr
        assert "free some space" in full.stderr
        assert "Traceback" not in full.stderr
    done = grade(samples, *TEXT_ONLY, "--out", run, cache=tmp_path / "cache")
    assert done.returncode == 0, done.stderr
    assert outcome(run) == outcome(tmp_path / "whole")


def test_a_missing_compiler_is_said(tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    (tmp_path / "a.md").write_text(transcript(1))
    hidden = {"PATH": str(tmp_path / "none")}
    asked = ("--out", tmp_path / "run", "--seed", "1")
    named = grade(
        tmp_path / "a.md", *asked, "--device", "sim", cache=tmp_path / "cache", variables=hidden
    )
    assert named.returncode == 3, named.stderr
    assert "is missing" in named.stderr
    auto = grade(tmp_path / "a.md", *asked, cache=tmp_path / "cache", variables=hidden)
    assert auto.returncode == 0, auto.stderr
    (row,) = map(json.loads, (tmp_path / "run" / "results.jsonl").read_text().splitlines())
    assert row["compiled"] is None
    assert row["device"] == "none"
    assert "is missing" in (tmp_path / "run" / "a.md").read_text()


def test_a_dead_gpu_is_said_in_the_drivers_words(tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    program = tools / "nvidia-smi"
    program.write_text(
        f"#!{sys.executable}\n"
        "print('Unable to determine the device handle for GPU0000:01:00.0: GPU is lost.')\n"
        "raise SystemExit(15)\n"
    )
    program.chmod(0o755)
    (tmp_path / "a.md").write_text(transcript(1))
    done = grade(
        tmp_path / "a.md", "--device", "cuda", "--out", tmp_path / "run",
        cache=tmp_path / "cache", variables={"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"},
    )  # fmt: skip
    assert done.returncode == 2
    assert "GPU is lost" in " ".join(done.stderr.split())
    assert not (tmp_path / "run" / "results.jsonl").exists()
