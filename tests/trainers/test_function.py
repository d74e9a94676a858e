"""The reward as trl and verl call it."""

from __future__ import annotations

import inspect
from types import SimpleNamespace

import pytest

from grader.config import Options
from grader.errors import UsageError
from grader.reward import function
from tests.trainers.replayed import RIGHT, SIM, WRONG, builds

NONE = Options(device="none", jobs=1)


@builds
@pytest.mark.slow
def test_both_trainers_get_the_same_numbers() -> None:
    reward = function(["relu"], options=Options.model_validate(SIM))
    said = [[{"role": "assistant", "content": text}] for text in (RIGHT, WRONG)]
    right, wrong = reward(
        prompts=["p"] * 2, completions=said, task=["relu"] * 2, completion_ids=[[1]] * 2
    )
    assert (right, wrong < 0.5) == (pytest.approx(0.7), True)
    score = reward(data_source="kernels", solution_str=RIGHT, ground_truth="relu", extra_info=None)
    assert score["score"] == right
    assert (score["status"], score["own"], score["known"]) == ("correct", 1.0, 1.0)


def test_what_can_not_be_graded_is_left_out_or_marked() -> None:
    reward = function("relu", options=NONE, unknown=-0.5)
    assert reward(prompts=["p"], completions=[RIGHT]) == [None]
    score = reward(data_source="", solution_str=RIGHT, ground_truth=None)
    assert (score["score"], score["known"]) == (-0.5, 0.0)


def test_a_row_names_its_task() -> None:
    reward = function(["relu", "softmax"], options=NONE)
    with pytest.raises(UsageError, match="names no task"):
        reward(completions=["text"])
    with pytest.raises(UsageError, match="not one of those given"):
        reward(completions=["text"], task=["gelu"])
    found = reward(completions=["no code"] * 2, task=["relu", "softmax"])
    assert found == [0.0, 0.0]
    assert reward(solution_str="no code", extra_info={"task": "relu"})["status"] == "no_code"


@pytest.mark.filterwarnings("ignore")
def test_trl_calls_it() -> None:
    """The method by which GRPOTrainer calls reward functions, on as much of a trainer as it reads."""
    pytest.importorskip("trl", reason="trl is not installed: pip install trl")
    torch = pytest.importorskip("torch")
    from accelerate import PartialState
    from trl import GRPOTrainer

    PartialState(cpu=True)
    reward = function(["relu", "softmax"], options=NONE)
    trainer = SimpleNamespace(
        accelerator=SimpleNamespace(device=torch.device("cpu"), is_main_process=True),
        args=SimpleNamespace(report_to=[]),
        reward_funcs=[reward],
        reward_processing_classes=[None],
        reward_func_names=[reward.__name__],
        chat_template_kwargs={},
        environments=None,
        state=SimpleNamespace(global_step=0),
        _log_completion_extra=None,
        _log_metric=None,
    )
    rows = [{"prompt": "p", "task": "relu"}, {"prompt": "p", "task": "softmax"}]
    said = [[{"role": "assistant", "content": text}] for text in ("no code", RIGHT)]
    given = GRPOTrainer._calculate_rewards(trainer, rows, ["p", "p"], said, [[1], [2]])
    assert given.shape == (2, 1)
    assert given[0, 0] == 0.0
    assert torch.isnan(given[1, 0]), "not run here, so left out"


def test_trl_takes_it_for_a_plain_function() -> None:
    reward = function("relu", options=NONE)
    assert reward.__name__ == "kernel_reward"
    assert not inspect.iscoroutinefunction(reward)
