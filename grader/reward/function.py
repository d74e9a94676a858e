"""The reward as a function for trainers.

trl calls it for a batch: `reward(prompts=..., completions=..., **columns)` gives a number for each completion, None for
a sample to leave out. verl calls it for one answer: `reward(data_source=..., solution_str=..., ground_truth=...,
extra_info=...)` gives `score` and its parts.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from grader.config import Options
from grader.errors import UsageError
from grader.reward.grader import Answer, Grader
from grader.reward.questions import Tasks, questions
from grader.reward.shaping import Shaping

Completion = str | Sequence[Mapping[str, Any]]
"""A text, or a conversation whose last message is the answer."""
HOW = (
    "give the data set a column `task` (verl: `ground_truth`) with a task's name, or pass one task"
)


def function(
    tasks: Tasks = None,
    *,
    options: Options | None = None,
    shaping: Shaping | None = None,
    unknown: float = 0.0,
) -> Callable[..., Any]:
    """Return a reward function for these tasks (see `questions`) that trl and verl can call.

    A row's task is the column `task`: a name among `tasks`, or a problem's source; it can be omitted where `tasks` is
    one task. `unknown` is the score for verl, which doesn't accept None, where a sample may not be at fault: `known` is
    then 0. One grader serves all calls, opened at the first.
    """
    known = {one.name: one.task for one in questions(tasks)}
    graders: list[Grader] = []
    opening = threading.Lock()  # verl calls from several threads

    def grader() -> Grader:
        with opening:
            if not graders:
                graders.append(Grader(options, shaping=shaping))
            return graders[0]

    def kernel_reward(
        prompts: Sequence[Any] | None = None,
        completions: Sequence[Completion] | None = None,
        *,
        solution_str: str | None = None,
        task: str | Sequence[str] | None = None,
        ground_truth: str | None = None,
        extra_info: Mapping[str, Any] | None = None,
        **columns: Any,
    ) -> list[float | None] | dict[str, Any]:
        """Grade completions (trl), or one solution (verl)."""
        del prompts, columns  # other columns of a row don't matter for the answer
        if solution_str is not None:
            named = ground_truth or (extra_info or {}).get("task")
            return _score(grader(), solution_str, _task(named, known), unknown)
        given = completions or ()
        rows = [task] * len(given) if task is None or isinstance(task, str) else task
        answers = [
            Answer(text=_text(one), task=_task(name, known))
            for one, name in zip(given, rows, strict=True)
        ]
        return [reward.value for reward in grader().grade_batch(answers)]

    return kernel_reward


def _score(grader: Grader, text: str, task: str, unknown: float) -> dict[str, Any]:
    """Return verl's result, with the same keys for every sample, since verl makes a table of them."""
    reward = grader.grade(text, task)
    signals = {name: reward.signals.get(name, 0.0) for name in ("built", "right", "sound", "own")}
    value = unknown if reward.value is None else reward.value
    return {
        "score": value,
        "known": float(reward.value is not None),
        "status": reward.status,
        **signals,
    }


def _task(named: str | None, known: Mapping[str, str]) -> str:
    if named is None:
        if len(known) == 1:
            return next(iter(known.values()))
        raise UsageError("a row names no task", HOW)
    if named in known:
        return known[named]
    if "\n" in named:
        return named
    raise UsageError(
        f"a row asks for the task {named[:60]!r}, which is not one of those given", HOW
    )


def _text(completion: Completion) -> str:
    if isinstance(completion, str):
        return completion
    content = completion[-1]["content"] if completion else ""
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", "")) for part in content)
