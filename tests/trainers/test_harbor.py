"""Exported folders are what Harbor reads, and their test gives the reward of what lies in the box."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from grader.errors import UsageError
from grader.reward import questions
from grader.trainers.harbor import export
from tests.trainers.replayed import RIGHT, WRONG, builds
from tests.whole import ROOT

PROBLEM = """import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)


def get_inputs():
    return [torch.rand(64, 128) - 0.5]


def get_init_inputs():
    return []
"""


def test_a_folder_holds_what_the_format_asks_for(tmp_path: Path) -> None:
    (tmp_path / "problems").mkdir()
    (tmp_path / "problems" / "19_ReLU.py").write_text(PROBLEM)
    for asked in ("relu,softmax", tmp_path / "problems"):
        export(questions(asked), tmp_path / "tasks")
    folders = sorted((tmp_path / "tasks").iterdir())
    assert [folder.name for folder in folders] == ["19_ReLU", "relu", "softmax"]
    for folder in folders:
        told = tomllib.loads((folder / "task.toml").read_text())
        assert told["verifier"]["timeout_sec"] > 0
        assert "class Model(" in (folder / "instruction.md").read_text()
        assert (folder / "environment" / "Dockerfile").read_text().startswith("FROM ")
        script = (folder / "tests" / "test.sh").read_text()
        assert subprocess.run(["bash", "-n"], input=script, text=True, check=False).returncode == 0
    assert (folders[0] / "tests" / "problem.py").read_text() == PROBLEM
    assert not (folders[0] / "solution").exists()
    assert "ModelNew" in (folders[1] / "solution" / "solve.sh").read_text()
    with pytest.raises(UsageError, match="already exists"):
        export(questions("relu"), tmp_path / "tasks")


def test_what_the_agent_sees_holds_no_kernel_of_ours(tmp_path: Path) -> None:
    (folder,) = export(questions("softmax"), tmp_path)
    seen = "".join(path.read_text() for path in (folder / "environment").iterdir())
    assert "__global__" not in seen + (folder / "instruction.md").read_text()


def test_the_library_reads_the_folders(tmp_path: Path) -> None:
    harbor = pytest.importorskip(
        "harbor.models.task.task",
        reason="harbor is not installed: pip install harbor (Python 3.12)",
    )
    for folder in export(questions("relu,softmax"), tmp_path):
        assert harbor.Task(folder).instruction.startswith("Write a fast CUDA kernel")


@builds
@pytest.mark.slow
@pytest.mark.parametrize(("answer", "least"), [(RIGHT, 0.7), (WRONG, 0.1)])
def test_the_test_script_writes_the_reward(tmp_path: Path, answer: str, least: float) -> None:
    (folder,) = export(questions("relu"), tmp_path / "tasks")
    line = (folder / "tests" / "test.sh").read_text().splitlines()[-1]
    (tmp_path / "answer.py").write_text(answer)
    words = line.replace("/app/", f"{tmp_path}/").replace("/logs/", f"{tmp_path}/").split()[1:]
    command = [sys.executable, str(ROOT / "grade.py"), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "verifier" / "reward.json").read_text())
    assert found["reward"] == float((tmp_path / "verifier" / "reward.txt").read_text())
    assert least <= found["reward"] < least + 0.2
    assert re.search(r'"status": "(correct|incorrect)"', done.stdout)


def test_no_reward_is_written_where_nothing_was_graded(tmp_path: Path) -> None:
    (tmp_path / "answer.py").write_text(RIGHT)
    command = [sys.executable, str(ROOT / "grade.py"), "reward", "answer.py", "--task", "relu"]
    command += ["--device", "none", "--to", "out"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 3
    assert "no reward" in done.stderr
    assert not (tmp_path / "out").exists()
