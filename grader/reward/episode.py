"""One task in several turns: `reset` returns the question, `step` grades an answer and returns feedback.

    with Grader() as grader:
        episode = Episode(grader, questions("softmax")[0], turns=3, level="line")
        observation = episode.reset()
        observation, reward, terminated, truncated, info = episode.step(answer)

The signatures are Gymnasium's, without its spaces: observations and actions are texts.
"""

from __future__ import annotations

from typing import Any

from grader.errors import UsageError
from grader.records import Record, Status
from grader.reward.feedback import Feedback, Level, feedback
from grader.reward.grader import Answer, Graded, Grader
from grader.reward.questions import Question

AGAIN = "\n\nSend the whole module again, changed."


class Observation(Record):
    """The model's observation."""

    text: str
    """The question, or the feedback on the last answer."""
    turn: int
    """Number of answers so far."""
    turns: int
    """Most answers."""
    feedback: Feedback | None = None
    """None before the first answer."""


class Episode:
    """A task, its turns, and the level of feedback between them; for one caller at a time."""

    def __init__(
        self, grader: Grader, question: Question, *, turns: int = 3, level: Level = "line"
    ) -> None:
        if turns < 1:
            raise UsageError(f"an episode can't have {turns} turns", "give at least 1")
        self.question = question
        self.turns = turns
        self.level = level
        self.graded: Graded | None = None
        """The grading of the last answer."""
        self.turn = 0
        self._over = True
        self._grader = grader

    def reset(self) -> Observation:
        """Begin again, and return the question."""
        self.turn, self.graded, self._over = 0, None, False
        return Observation(text=self.question.prompt, turn=0, turns=self.turns)

    def step(self, answer: str) -> tuple[Observation, float | None, bool, bool, dict[str, Any]]:
        """Grade an answer; return observation, reward, terminated (it is right), truncated (turns used up), info.

        The reward is None where the answer may not be at fault: leave such a turn out. Raises UsageError before `reset`
        and after the end.
        """
        if self._over:
            raise UsageError("the episode is over", "call reset")
        self.graded = self._grader.look(Answer(text=answer, task=self.question.task))
        self.turn += 1
        right = self.graded.reward.status == "correct"
        truncated = not right and self.turn >= self.turns
        self._over = right or truncated
        reward = self.graded.reward
        info = {"status": reward.status, "parts": reward.parts, "signals": reward.signals}
        return self._observe(answer, self.graded), reward.value, right, truncated, info

    @property
    def status(self) -> Status | None:
        """Return the status of the last answer; None before the first."""
        return self.graded.reward.status if self.graded else None

    def _observe(self, answer: str, graded: Graded) -> Observation:
        told = feedback(graded.assessment, self.level, answer)
        text = told.text if self._over else told.text + AGAIN
        return Observation(text=text, turn=self.turn, turns=self.turns, feedback=told)
