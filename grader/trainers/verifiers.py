"""An environment of verifiers (0.4, `verifiers.v1`): our tasks as its taskset, the reward's parts as its rubric.

`KernelTaskset` alone is single turn with any harness. `KernelEnv` has several turns with feedback between them, and
runs no code of the model outside our sandbox: its harness only exchanges messages. The package in
`environments/kernel_grader_env` installs it under its own id.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import httpx
import verifiers.v1 as vf
from verifiers.v1.dialects.chat import message_to_wire

from grader.reward import Answer, Graded, Level, feedback, questions
from grader.reward.episode import AGAIN
from grader.trainers.shared import grader_for


class KernelData(vf.TaskData):
    """One task's data."""

    kernel_task: str
    """The name of a built-in task, or a problem's source."""


class KernelTaskConfig(vf.TaskConfig):
    """How answers are graded."""

    options: dict[str, Any] = {}
    """Grading options by name, such as `{"device": "sim", "policy": "custom-only"}`."""


class KernelTask(vf.Task[KernelData, vf.State, KernelTaskConfig]):
    """Requests one kernel; scores the last answer."""

    async def grade_once(self, answer: str) -> Graded:
        """Grade an answer; repeated answers are graded once."""
        grader = await asyncio.to_thread(grader_for, self.config.options)
        return await asyncio.to_thread(grader.look, Answer(text=answer, task=self.data.kernel_task))

    @vf.reward(weight=1.0)
    async def parts(self, trace: vf.Trace) -> dict[str, float]:
        """Return the parts of the reward (`grader.reward.Shaping`), which add up to it."""
        reward = (await self.grade_once(trace.last_reply)).reward
        if reward.value is None:  # an error, so that the rollout is not used as a sample
            raise vf.TaskError(f"not graded: {reward.status}: {reward.sentence}")
        return dict(reward.parts) or {"nothing": 0.0}

    @vf.metric
    async def signals(self, trace: vf.Trace) -> dict[str, float]:
        """Return the signals, before any weight: `built`, `right`, `sound`, `honest`, `own`, ..."""
        return dict((await self.grade_once(trace.last_reply)).reward.signals)


class KernelTasksetConfig(vf.TasksetConfig):
    """The choice of tasks."""

    tasks: str | None = None
    """Names of built-in tasks, separated by commas; all of them where not given."""
    folder: str | None = None
    """A folder of KernelBench-style problem files instead."""
    task: KernelTaskConfig = KernelTaskConfig()


class KernelTaskset(vf.Taskset[KernelTask, KernelTasksetConfig]):
    """Our tasks."""

    def load(self) -> Iterable[KernelTask]:
        """Yield a task for each question."""
        from pathlib import Path

        asked = Path(self.config.folder) if self.config.folder else self.config.tasks
        for one in questions(asked):
            data = KernelData(name=one.name, prompt=one.prompt, kernel_task=one.task)
            yield KernelTask(data, self.config.task)


class ChatHarness(vf.Harness[vf.HarnessConfig]):
    """Requests one message from the model in this process; nothing is installed, and no code of the answer is run."""

    APPENDS_SYSTEM_PROMPT = True
    SUPPORTS_RESUME = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(
        self,
        ctx: vf.ModelContext,
        trace: vf.Trace,  # noqa: ARG002
        runtime: vf.Runtime,  # noqa: ARG002 - the library's signature
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],  # noqa: ARG002
        data: vf.TaskData,
    ) -> vf.ProgramResult:
        """Send the conversation so far to the model; the endpoint keeps the record."""
        system, prompt = self.resolve_prompt(data)
        said = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else []
        if not isinstance(prompt, str):
            said = [message_to_wire(message) for message in prompt or ()]
        before = [{"role": "system", "content": system}] if system else []
        async with httpx.AsyncClient(timeout=None) as client:  # noqa: S113 - the rollout has a deadline of its own
            answer = await client.post(
                f"{endpoint}/chat/completions",
                json={"model": ctx.model, "messages": [*before, *said]},
                headers={"Authorization": f"Bearer {secret}"},
            )
        failed = answer.is_error
        return vf.ProgramResult(
            exit_code=int(failed), stdout="", stderr=answer.text if failed else ""
        )


class KernelEnvConfig(vf.EnvConfig):
    """The model's harness, and the number of turns."""

    agent: vf.AgentConfig = vf.AgentConfig(runtime={"type": "subprocess"})
    """Its harness runs nothing, so it needs no sandbox; set `--env.agent.harness.id` for an agent's own harness."""
    turns: int = 1
    level: Level = "line"
    """Level of feedback between turns: `verdict`, `cause`, `line`, `review`."""


class KernelEnv(vf.Env[KernelEnvConfig]):
    """A task in one turn or several; it ends with the first right answer, and the last answer counts."""

    async def run(self, task: vf.Task, agents: vf.Agents) -> None:
        """Pose the task, grade, and give feedback until the answer is right or the turns are used up."""
        async with agents.agent.interaction(task) as chat:
            said = await chat.turn()
            for _ in range(self.config.turns - 1):
                if said.terminated:
                    break
                graded = await task.grade_once(said.last_reply)
                if graded.reward.status == "correct":
                    break
                told = feedback(graded.assessment, self.config.level, said.last_reply)
                said = await chat.turn(told.text + AGAIN)


__all__ = ["ChatHarness", "KernelEnv", "KernelTaskset"]
