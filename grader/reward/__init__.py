"""A number for a training loop: answers graded from any thread or event loop, one scalar each.

    with Grader() as grader:
        reward = grader.grade(completion, task="softmax")
        rewards = grader.grade_batch([Answer(text, task) for text, task in batch])
        reward = await grader.grade_async(completion, task=reference_source)

`function(tasks)` gives the same as the reward function that trl and verl call, `Episode` as turns with feedback;
`grader.trainers` holds the environments of other libraries.
"""

from grader.reward.episode import Episode, Observation
from grader.reward.feedback import Feedback, Level, feedback
from grader.reward.function import function
from grader.reward.grader import Answer, Graded, Grader, task_of
from grader.reward.questions import Question, questions
from grader.reward.shaping import (
    CHEATS,
    UNKNOWN,
    Reward,
    Shaping,
    Told,
    reward_evaluation,
    shown_to_trainer,
)

__all__ = [
    "CHEATS",
    "UNKNOWN",
    "Answer",
    "Episode",
    "Feedback",
    "Graded",
    "Grader",
    "Level",
    "Observation",
    "Question",
    "Reward",
    "Shaping",
    "Told",
    "feedback",
    "function",
    "questions",
    "reward_evaluation",
    "shown_to_trainer",
    "task_of",
]
