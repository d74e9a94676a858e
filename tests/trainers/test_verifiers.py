"""The environment plays in the real library, with a model that replays recorded answers."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.trainers.replayed import RIGHT, SIM, WRONG, builds, model

vf = pytest.importorskip(
    "verifiers.v1", reason="verifiers is not installed: pip install 'kernel-grader[verifiers]'"
)
PACKAGE = Path(__file__).parents[2] / "environments" / "kernel_grader_env"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # of the library's own
]


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install the environment package as a user does, into a folder of the test's own."""
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--target", str(tmp_path), str(PACKAGE)], check=True)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("REPLAYED_KEY", "none")
    monkeypatch.delitem(sys.modules, "kernel_grader_env", raising=False)


def played(answers: list[str], turns: int) -> tuple[Any, list[dict[str, Any]]]:
    """Play one episode of the task relu, as `vf-eval kernel-grader-env` does."""
    from verifiers.v1.utils.loaders import environment_class, load_environment

    taskset = {"id": "kernel-grader-env", "tasks": "relu", "task": {"options": SIM}}
    config_type = environment_class("kernel-grader-env").__orig_bases__[0].__args__[0]
    env = load_environment(config_type.model_validate({"taskset": taskset, "turns": turns}))

    async def play(address: str) -> Any:
        client = vf.EvalClientConfig(base_url=address, api_key_var="REPLAYED_KEY")
        (task,) = env.taskset
        async with env.serving():
            return await env.run_episode(task, vf.ModelContext(model="replayed", client=client))

    with model(answers) as (address, asked):
        return asyncio.run(play(address)), asked


@builds
def test_one_turn_is_scored_by_the_rewards_parts() -> None:
    episode, asked = played([WRONG], turns=1)
    (trace,) = episode.traces
    assert episode.ok, (episode.errors, trace.errors)
    assert len(asked) == 1
    assert "class Model(nn.Module)" in asked[0]["messages"][0]["content"]
    assert set(trace.rewards) == {"built", "partly"}
    assert 0.1 <= trace.reward < 0.5
    assert trace.metrics["built"] == 1.0


@builds
def test_several_turns_tell_what_is_wrong_and_end_with_the_right_answer() -> None:
    episode, asked = played([WRONG, RIGHT, RIGHT], turns=3)
    (trace,) = episode.traces
    assert episode.ok, (episode.errors, trace.errors)
    assert len(asked) == 2
    told = asked[1]["messages"][-1]
    assert told["role"] == "user"
    assert "differ from the reference" in told["content"]
    assert trace.rewards["correct"].value == pytest.approx(0.5)
    assert trace.metrics["own"] == trace.metrics["sound"] == 1.0


def test_what_can_not_be_graded_is_an_error_and_no_sample() -> None:
    from kernel_grader_env import KernelTaskset
    from verifiers.v1.utils.loaders import taskset_config_type

    given = {"id": "kernel-grader-env", "tasks": "relu", "task": {"options": {"device": "none"}}}
    (task,) = KernelTaskset(taskset_config_type("kernel-grader-env").model_validate(given))

    class Trace:
        last_reply = RIGHT

    with pytest.raises(vf.TaskError, match="not_run"):
        asyncio.run(task.parts(Trace()))
