"""The samples that come with the program: copied to a new folder; a folder of that name is graded as any."""

from __future__ import annotations

from pathlib import Path

import pytest

import grader.cli  # noqa: F401 - the commands register themselves
from grader.cli import main
from tests.whole import ROOT, TEXT_ONLY, write_samples


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KERNEL_GRADER_CACHE", str(tmp_path / "cache"))
    return tmp_path


def test_all_samples_are_copied_to_a_new_folder(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["samples", "--to", "tried"]) == 0
    assert "kernel-grader tried/" in capsys.readouterr().out
    copied = sorted(path.name for path in (here / "tried").iterdir())
    assert copied == sorted(path.name for path in (ROOT / "samples").iterdir())


def test_nothing_is_written_over(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "tried").mkdir()
    (here / "tried" / "mine.txt").write_text("mine")
    assert main(["samples", "--to", "tried"]) == 2
    assert "already exists" in capsys.readouterr().err
    assert [path.name for path in (here / "tried").iterdir()] == ["mine.txt"]


@pytest.mark.parametrize("word", ["samples", "samples/"])
def test_a_folder_called_samples_is_graded(word: str, here: Path) -> None:
    write_samples(here / "samples", 2)
    assert main([word, "--out", "out", *TEXT_ONLY, "--quiet"]) == 0
    assert len(list((here / "out" / "data").iterdir())) == 2


def test_where_there_is_no_such_folder_the_command_is_named(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["samples"]) == 2
    assert "--to" in capsys.readouterr().err
    assert main(["samples/"]) == 2
    assert "did you mean samples?" in capsys.readouterr().err
