"""Wrong input is said at once: exit code 2, one sentence with the nearest right word, and nothing is made."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from grader.cli import main
from tests.whole import TEXT_ONLY, transcript, write_samples

WRONG = {
    "a device": (["--device", "simm"], "did you mean sim?"),
    "a device that is like none": (["--device", "tpu"], "choose one of auto, cuda, sim, none"),
    "a GPU": (["--gpu", "h1000"], "did you mean h100?"),
    "jobs": (["--jobs", "-3"], "--jobs can't be"),
    "a number": (["--jobs", "many"], "valid integer"),
    "a rule": (["--select", "SYN0001"], "did you mean SYN001?"),
    "a rule that is like none": (["--ignore", "NOPE"], "names no rule"),
    "a task": (["--task", "sofmax"], "did you mean softmax"),
    "a folder of tasks": (["--tasks", "nosuchdir"], "does not exist"),
    "an option": (["--devise", "sim"], "Did you mean --device?"),
    "an option that is like none": (["--zzz"], "--help lists what can be given"),
    "no value": (["--task"], "--task needs a value"),
    "time": (["--run-seconds", "0"], "greater than 0"),
}


@pytest.fixture
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """TimingSession in an empty folder with two samples."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KERNEL_GRADER_CACHE", str(tmp_path / "cache"))
    write_samples(tmp_path / "samples", 2)
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Return the exit code and what was written to standard error, on one line."""
    code = main(arguments)
    return code, " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(("options", "hint"), WRONG.values(), ids=WRONG)
def test_an_option(
    inside: Path, capsys: pytest.CaptureFixture[str], options: list[str], hint: str
) -> None:
    code, error = said(capsys, "samples", *options)
    assert code == 2
    assert hint in error
    assert error.startswith("error: ")
    assert {path.name for path in inside.iterdir()} == {"samples"}


def test_a_path_that_may_be_a_command(inside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "scor", "samples") == (
        2, "error: there is no file or folder scor (did you mean score?)"
    )  # fmt: skip


@pytest.mark.parametrize(
    "command", [["score", "x"], ["compare", "x", "x"], ["kernelbench", "x"], ["report", "x"]]
)
def test_what_is_no_run_folder(
    inside: Path, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    code, error = said(capsys, *command)
    assert (code, error) == (2, "error: x does not exist (name the folder that was given as --out)")
    assert not (inside / "x").exists()
    code, error = said(capsys, *[word.replace("x", "samples") for word in command])
    assert code == 2
    assert "samples is not a run folder" in error


def test_a_folder_beside_the_run_folder(inside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["samples", *TEXT_ONLY, "--out", "runs/first", "--quiet"]) == 0
    capsys.readouterr()
    code, error = said(capsys, "score", "runs")
    assert (code, error) == (2, "error: runs is not a run folder (did you mean runs/first?)")
    code, error = said(capsys, "kernelbench", "runs/first")
    assert code == 0
    assert "no sample of this run has KernelBench's level and problem" in error


def test_lines_that_are_no_records(inside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = ["{broken", json.dumps({"id": "a", "text": transcript(1)}), '{"id": "b"}']
    (inside / "out.jsonl").write_text("\n".join(lines))
    code, error = said(capsys, "out.jsonl", *TEXT_ONLY, "--out", "run")
    assert code == 0
    assert "skipped out.jsonl:1: not a JSON record" in error
    assert "skipped out.jsonl:3: the record holds no completion" in error
    assert "it has `id`: name the one that holds the answer `completion`" in error
    assert len((inside / "run" / "results.jsonl").read_text().splitlines()) == 1


def test_only_lines_that_are_no_records(inside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (inside / "out.jsonl").write_text('{"prompt": "write a kernel"}\n')
    code, error = said(capsys, "out.jsonl", *TEXT_ONLY, "--out", "run")
    assert code == 2
    assert "skipped out.jsonl:1" in error
    assert "no samples in out.jsonl" in error


def test_one_sample_is_no_samples(inside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["samples", *TEXT_ONLY, "--only", "*_000", "--out", "run"]) == 0
    assert "1 sample: " in capsys.readouterr().out


def test_the_options_that_matter_come_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    help_ = capsys.readouterr().out
    options = help_[help_.index("─ Most used ─") :]
    assert options.index("--task ") < options.index("─ What counts ─") < options.index("--policy")
    assert main(["serve", "--help"]) == 0
    own = capsys.readouterr().out
    assert "--queue" in own
    assert "--repair-tries" not in own
