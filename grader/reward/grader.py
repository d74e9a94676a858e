"""Answers graded for a training loop, from any thread or event loop."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from types import TracebackType
from typing import Self

from grader import tasks
from grader.config import Options
from grader.errors import UsageError
from grader.ingest.decode import clean
from grader.pipeline import open_context
from grader.records import Assessment, Record, Sample, Task
from grader.reward.shaping import Reward, Shaping, reward_evaluation
from grader.scheduling.pool import open_local
from grader.store import Store


class Answer(Record):
    """A model's answer, and its task."""

    text: str
    """The completion: a transcript with code in it, or the code itself."""
    task: str | None = None
    """Name of a built-in task, or the source of a KernelBench-style problem (`Model`, `get_inputs`).

    Without it the task is inferred from the answer's text.
    """
    id: str = "answer"


@dataclass(frozen=True)
class Graded:
    """A reward together with the assessment that it is computed from."""

    reward: Reward
    assessment: Assessment


class Grader:
    """Grades answers for a training loop; every method may be called from any thread.

    At most `options.jobs` answers are graded at once; further ones wait. The same program for the same task is
    evaluated once. Raises GraderError where this machine can't grade.
    """

    def __init__(
        self,
        options: Options | None = None,
        *,
        shaping: Shaping | None = None,
        seed: int | None = None,
    ) -> None:
        chosen = options or Options()
        if chosen.settle_early is None:
            chosen = chosen.model_copy(update={"settle_early": True})
        wanted = next((s for s in (seed, chosen.seed) if s is not None), secrets.randbits(62))
        self._shaping = shaping or Shaping()
        self._workers = open_local(open_context(chosen, Store(chosen.cache), wanted))
        self._workers.warm_up()
        self.jobs = self._workers.jobs
        self._pool = ThreadPoolExecutor(self.jobs, thread_name_prefix="reward")

    def prepare(self, asked: Iterable[str]) -> None:
        """Describe tasks and run their references in parallel, so that no answer waits for that.

        `asked` are as `Answer.task`; raises UsageError for anything that is not a task. The results are cached.
        """
        wanted = [task for name in dict.fromkeys(asked) if (task := task_of(name))]
        for prepared in [self._pool.submit(self._workers.prepare, task) for task in wanted]:
            prepared.result()

    def submit(self, answer: Answer) -> Future[Reward]:
        """Grade in the background. Raises UsageError at once for a task that isn't one."""
        return self._pool.submit(self._grade, answer, task_of(answer.task))

    def begin(self, answer: Answer) -> Future[Graded]:
        """Grade in the background, as `submit`, and also return the assessment behind the reward."""
        return self._pool.submit(self._look_up_or_grade, answer, task_of(answer.task))

    def look(self, answer: Answer) -> Graded:
        """Grade one answer and wait for it, as `begin`."""
        return self.begin(answer).result()

    def grade(self, text: str, task: str | None = None) -> Reward:
        """Grade one answer and wait for it; see `Answer` for `task`."""
        return self.submit(Answer(text=text, task=task)).result()

    async def grade_async(self, text: str, task: str | None = None) -> Reward:
        """Grade one answer without blocking the event loop."""
        return await asyncio.wrap_future(self.submit(Answer(text=text, task=task)))

    def grade_batch(self, answers: Iterable[Answer]) -> list[Reward]:
        """Grade answers in parallel; the rewards are in the answers' order."""
        futures = [self.submit(answer) for answer in answers]
        return [future.result() for future in futures]

    def close(self, *, wait: bool = True) -> None:
        """Accept no more answers; those not begun are dropped."""
        self._pool.shutdown(wait=wait, cancel_futures=True)
        self._workers.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close(wait=kind is None)

    def _grade(self, answer: Answer, task: Task | None) -> Reward:
        return self._look_up_or_grade(answer, task).reward

    def _look_up_or_grade(self, answer: Answer, task: Task | None) -> Graded:
        text = clean(answer.text)
        sample = Sample(id=answer.id, origin="a training loop", format="transcript", text=text)
        made = self._workers.assess(sample, task)
        return Graded(reward_evaluation(made.evaluation, self._shaping, made.findings), made)


@lru_cache(4096)
def task_of(named: str | None) -> Task | None:
    """Return the task for a name or a problem's source."""
    if named is None:
        return None
    if "\n" not in named:
        if "/" in named or named.endswith(".py"):
            raise UsageError("a task is a name or a source, not a path", "`tasks` lists the names")
        return tasks.task_named(named, None)
    draft = tasks.from_reference(named)
    if draft is None:
        raise UsageError("the task's source defines no `Model` and `get_inputs`")
    return draft
