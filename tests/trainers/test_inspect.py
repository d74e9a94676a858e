"""`inspect eval` runs with a mock model, and its log holds what the viewer shows of our findings."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from grader.trainers import __path__ as trainers
from tests.trainers.replayed import DECOY, RIGHT, UNBUILT, WRONG, builds, model

pytest.importorskip(
    "inspect_ai", reason="inspect-ai is not installed: pip install 'kernel-grader[inspect]'"
)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # of the library's own
]
PROBLEM = """import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)


def get_inputs():
    return [torch.rand(64, 128) - 0.5]


def get_init_inputs():
    return []
"""


def log_of(tmp_path: Path, answers: list[str], **asked: Any) -> Any:
    from inspect_ai import eval as run
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    from grader.trainers.inspect_task import kernels

    outputs = [ModelOutput.from_content("mockllm/model", text) for text in answers]
    for output in outputs:
        output.usage = ModelUsage()  # else tokens are counted, with a table from the network
    mock = get_model("mockllm/model", custom_outputs=outputs)
    (log,) = run(kernels(**asked), model=mock, log_dir=str(tmp_path), display="none")
    assert log.status == "success", log.error
    return log


@builds
def test_turns_are_asked_and_the_last_answer_counts(tmp_path: Path) -> None:
    log = log_of(tmp_path, [UNBUILT, WRONG, RIGHT], tasks="relu", turns=3, device="sim")
    (sample,) = log.samples
    said = [message.text for message in sample.messages if message.role == "user"]
    assert ["Write a fast" in said[0], "does not build" in said[1], "differ" in said[2]] == [
        True
    ] * 3
    assert "`zero`" in said[1] or '"zero"' in said[1]
    score = sample.scores["kernel_reward"]
    assert score.value["correct"] == score.value["own"] == 1.0
    assert score.value["reward"] == pytest.approx(0.7)


@builds
def test_the_viewer_shows_findings_of_a_kernelbench_problem(tmp_path: Path) -> None:
    folder = tmp_path / "problems"
    folder.mkdir()
    (folder / "19_ReLU.py").write_text(PROBLEM)
    log = log_of(tmp_path / "logs", [WRONG], folder=str(folder), device="sim")
    score = log.samples[0].scores["kernel_reward"]
    assert score.answer == "incorrect"
    assert score.explanation.startswith("**incorrect**")
    assert score.metadata["findings"], "what the viewer lists under the score"
    assert score.metadata["findings"][0]["rule"] in score.explanation


@builds
def test_a_decoy_beside_a_call_of_torch_earns_no_share(tmp_path: Path) -> None:
    log = log_of(tmp_path, [DECOY], tasks="relu", device="sim")
    score = log.samples[0].scores["kernel_reward"]
    assert (score.value["own"], score.value["correct"]) == (0.0, 1.0)
    assert score.value["reward"] == pytest.approx(0.6)


def test_what_can_not_be_graded_has_no_score(tmp_path: Path) -> None:
    log = log_of(tmp_path, [RIGHT], tasks="relu", device="none")
    value = log.samples[0].scores["kernel_reward"].value
    assert isinstance(value, float)
    assert math.isnan(value)


def test_the_command_line_runs_it(tmp_path: Path) -> None:
    file = f"{next(iter(trainers))}/inspect_task.py@kernels"
    command = [
        sys.executable,
        "-m",
        "inspect_ai",
        "eval",
        file,
        "--model",
        "openai-api/replayed/model",
    ]
    given = [
        "-T",
        "tasks=relu",
        "-T",
        "device=none",
        "--log-dir",
        str(tmp_path),
        "--display",
        "plain",
    ]
    with model([RIGHT]) as (address, asked):
        known = {"REPLAYED_API_KEY": "none", "REPLAYED_BASE_URL": address}
        done = subprocess.run(
            [*command, *given],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env={**os.environ, **known},
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(asked) == 1
    assert list(tmp_path.glob("*.eval"))
