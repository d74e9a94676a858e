"""An environment server of OpenEnv: `kernel-grader serve --protocol openenv`.

A session is one task in several turns. `reset` returns the question, `step` grades an answer and returns its feedback;
below the level `review` the observation never contains expected values, inputs, seeds or a fix.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from openenv.core.env_server import Action, Environment, Observation, State, create_app

from grader.errors import UsageError
from grader.reward import Episode, Grader, Level, Question


class KernelAction(Action):
    """The model's answer."""

    answer: str
    """The completion: a text with the module in a code block, or the module."""


class KernelObservation(Observation):
    """The model's next observation."""

    text: str
    """The question, or the feedback on the last answer."""
    status: str | None = None
    """Status of the last answer; null before the first."""
    turn: int = 0
    turns: int = 1


class KernelState(State):
    """State of the session, for its operator."""

    task: str = ""
    status: str | None = None


class KernelEnvironment(Environment[KernelAction, KernelObservation, KernelState]):
    """One session; all sessions share a grader, which may be called from any thread."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(
        self, grader: Grader, asked: Sequence[Question], turns: int = 3, level: Level = "line"
    ) -> None:
        super().__init__()
        self._grader, self._asked, self._turns, self._level = grader, asked, turns, level
        self._episode = Episode(grader, asked[0], turns=turns, level=level)
        self._id = ""

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        *,
        task: str | None = None,
        **_others: Any,
    ) -> KernelObservation:
        """Begin a task: the named one, else one drawn with the seed."""
        self._episode = Episode(
            self._grader, self._choose_question(seed, task), turns=self._turns, level=self._level
        )
        self._id = episode_id or uuid.uuid4().hex
        seen = self._episode.reset()
        return KernelObservation(text=seen.text, turns=seen.turns)

    def step(
        self, action: KernelAction, timeout_s: float | None = None, **_others: Any
    ) -> KernelObservation:
        """Grade an answer; `done` after the first right answer and when the turns are used up."""
        del timeout_s  # a grading has its own time limits
        seen, reward, right, truncated, info = self._episode.step(action.answer)
        return KernelObservation(
            text=seen.text,
            status=info["status"],
            turn=seen.turn,
            turns=seen.turns,
            reward=reward,
            done=right or truncated,
            metadata={"parts": info["parts"], "signals": info["signals"]},
        )

    @property
    def state(self) -> KernelState:
        """Return the session's state."""
        return KernelState(
            episode_id=self._id or None,
            step_count=self._episode.turn,
            task=self._episode.question.name,
            status=self._episode.status,
        )

    def list_splits(self) -> list[str]:
        """Return the only split."""
        return ["train"]

    def num_tasks(self, split: str) -> int:
        """Return the number of tasks."""
        del split
        return len(self._asked)

    def get_task(self, split: str, index: int) -> dict[str, Any]:
        """Return one task's name; `reset` takes it as `task`."""
        del split
        return {"id": self._asked[index].name, "index": index}

    def list_tasks(self, split: str) -> list[dict[str, Any]]:
        """Return all tasks' names."""
        return [self.get_task(split, index) for index in range(len(self._asked))]

    def _choose_question(self, seed: int | None, task: str | None) -> Question:
        if task is None:
            return random.Random(seed).choice(self._asked)  # noqa: S311 - no secret
        found = next((one for one in self._asked if one.name == task), None)
        if found is None:
            raise UsageError(f"there is no task {task[:60]!r} here", "see the list of tasks")
        return found


def application(
    grader: Grader, asked: Sequence[Question], *, turns: int, level: Level, sessions: int
) -> Any:
    """Return the ASGI application."""
    made: Callable[[], KernelEnvironment] = lambda: KernelEnvironment(grader, asked, turns, level)  # noqa: E731
    return create_app(
        made,
        KernelAction,
        KernelObservation,
        env_name="kernel-grader",
        max_concurrent_envs=sessions,
        state_cls=KernelState,
    )
