"""A task and a scorer of inspect_ai: `inspect eval grader/kernels --model ...`.

The solver requests a kernel and, with more than one turn, gives the model feedback on its last one. The scorer returns
the reward and its signals; its explanation, shown in the log viewer, is a short review of the answer.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageUser
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver

from grader.reward import Answer, Graded, Level, feedback, questions
from grader.reward.episode import AGAIN
from grader.trainers.shared import grader_for

SIGNALS = ("correct", "built", "right", "sound", "honest", "own", "general")
"""Signals that are averaged beside the reward; 0 where missing."""


@task
def kernels(
    tasks: str | None = None,
    folder: str | None = None,
    turns: int = 1,
    level: Level = "line",
    device: str = "auto",
    policy: str = "any",
) -> Task:
    """Request CUDA kernels for PyTorch modules.

    `tasks` names built-in tasks, separated by commas; `folder` holds KernelBench-style problem files.
    `level` is the level of feedback between turns: `verdict`, `cause`, `line`, `review`.
    """
    options = {"device": device, "policy": policy}
    asked = questions(Path(folder) if folder else tasks)
    samples = [Sample(input=one.prompt, id=one.name, metadata={"task": one.task}) for one in asked]
    return Task(
        dataset=MemoryDataset(samples, name="kernels"),
        solver=kernel_turns(turns, level, options),
        scorer=kernel_reward(options),
    )


@solver
def kernel_turns(turns: int, level: Level, options: dict[str, Any]) -> Solver:
    """Pose the task and give feedback until the answer is right or the turns are used up."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state = await generate(state)
        for _ in range(turns - 1):
            graded = await _grade_state(state, options)
            if graded.reward.status == "correct":
                break
            told = feedback(graded.assessment, level, state.output.completion)
            state.messages.append(ChatMessageUser(content=told.text + AGAIN))
            state = await generate(state)
        return state

    return solve


@scorer(metrics={"*": [mean(), stderr()]})
def kernel_reward(options: dict[str, Any]) -> Scorer:
    """Return the reward and its parts; a sample that can't be graded gets no score."""

    async def score(state: TaskState, target: Target) -> Score:
        del target  # an answer is compared with the task's own reference
        graded = await _grade_state(state, options)
        reward = graded.reward
        if reward.value is None:
            return Score.unscored(explanation=f"{reward.status}: {reward.sentence}")
        seen = {"correct": float(reward.status == "correct"), **reward.signals}
        told = feedback(graded.assessment, "review", state.output.completion)
        return Score(
            value={"reward": reward.value, **{name: seen.get(name, 0.0) for name in SIGNALS}},
            answer=reward.status,
            explanation=f"**{reward.status}**: {told.text}",
            metadata={
                "parts": reward.parts,
                "speedup": reward.speedup,
                "findings": [finding.model_dump(mode="json") for finding in reward.findings],
            },
        )

    return score


async def _grade_state(state: TaskState, options: dict[str, Any]) -> Graded:
    grader = await asyncio.to_thread(grader_for, options)
    answer = Answer(text=state.output.completion, task=state.metadata["task"])
    return await asyncio.to_thread(grader.look, answer)
