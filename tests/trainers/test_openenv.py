"""OpenEnv's own server and client play our environment."""

from __future__ import annotations

import pytest

from grader.config import Options
from grader.reward import Grader, questions
from tests.trainers.replayed import RIGHT, SIM, WRONG, builds, served

pytest.importorskip(
    "openenv.core", reason="openenv is not installed: pip install 'kernel-grader[openenv]'"
)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # of the library's own
]


@builds
def test_a_session_is_played_by_openenvs_client() -> None:
    from openenv.core import GenericEnvClient

    from grader.trainers.openenv import application

    with Grader(Options.model_validate(SIM), seed=1) as grader:
        asked = questions("relu,gelu")
        made = application(grader, asked, turns=3, level="line", sessions=4)
        with served(made) as address, GenericEnvClient(base_url=address).sync() as client:
            first = client.reset(task="relu")
            assert "torch.relu" in first.observation["text"]
            assert not first.done
            wrong = client.step({"answer": WRONG})
            assert wrong.observation["status"] == "incorrect"
            assert 0.1 <= wrong.reward < 0.5
            assert not wrong.done
            right = client.step({"answer": RIGHT})
            assert (right.observation["status"], right.done) == ("correct", True)
            assert right.reward == pytest.approx(0.7)
            assert client.state()["step_count"] == 2


def test_tasks_are_listed_and_drawn_with_the_seed() -> None:
    from grader.trainers.openenv import KernelEnvironment

    with Grader(Options(device="none", jobs=1), seed=1) as grader:
        env = KernelEnvironment(grader, questions("relu,gelu,softmax"))
        assert env.num_tasks("train") == len(env.list_tasks("train")) == 3
        drawn = [env.reset(seed=3).text for _ in range(3)]
        assert len(set(drawn)) == 1
        assert len({env.reset(seed=seed).text for seed in range(20)}) == 3
