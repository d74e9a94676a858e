"""A number for a training loop: answers graded from any thread or event loop, one scalar each.

    with Grader() as grader:
        reward = grader.grade(completion, task="softmax")
        rewards = grader.grade_batch([Answer(text, task) for text, task in batch])
        reward = await grader.grade_async(completion, task=reference_source)

The scalar, with the weights of `Shaping`, from what `Evaluation` says:

- a cheat (`rejected`, `dishonest`): `cheating`, the least there is;
- no code, or code that doesn't build: 0;
- built, but crashed, hung or too slow: `built`;
- built and run, but wrong: `built` and the part of `partly` that is the share of workloads that came
  out right, so less than anything whose values are all right;
- `unsound`, that is right values by luck (a race, an access out of bounds): `unsound`, between what is wrong and
  what is correct whatever the other weights are. Its speed earns nothing, nor that other sizes come out right;
- correct at the task's own sizes: `correct`, and `general` more where right at other sizes as well;
- correct and measured on a GPU: `speed` times log(speed-up) / log(cap), between 0 and 1, of the
  lower end of the speed-up's 95% interval, so that noise earns nothing. Slower than PyTorch earns no
  less than unmeasured: being right comes first.

`value` is None where the submission can't be told to be at fault (`grader_error`, `not_run`,
`no_task`): leave such a sample out of the step instead of giving it any number.
"""

from __future__ import annotations

import asyncio
import math
import secrets
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from types import TracebackType
from typing import Self

from pydantic import Field

from grader import tasks
from grader.config import Options
from grader.errors import UsageError
from grader.ingest.decode import clean
from grader.pipeline import open_context
from grader.records import Evaluation, Finding, Record, Sample, Severity, Status, Task
from grader.scheduling.pool import open_pool
from grader.store import Store

UNKNOWN = frozenset({"grader_error", "not_run", "no_task"})
CHEATS = frozenset({"rejected", "dishonest"})
NOTHING = frozenset({"no_code", "build_failed", "build_timeout"})
STOPPED = frozenset({"crashed", "hung", "timeout"})


class Shaping(Record):
    """Weights of the scalar; the default ones add up to 1 for a fast, general kernel."""

    cheating: float = Field(-1.0, le=0.0)
    built: float = Field(0.1, ge=0.0)
    partly: float = Field(0.2, ge=0.0)
    """For wrong results: multiplied by the share of workloads that came out right."""
    unsound: float = Field(0.4, ge=0.0)
    """For right values that undefined behaviour leaves to luck; never more than `correct`."""
    correct: float = Field(0.6, ge=0.0)
    general: float = Field(0.1, ge=0.0)
    speed: float = Field(0.3, ge=0.0)
    cap: float = Field(4.0, gt=1.0)
    """Speed-up over eager PyTorch beyond which nothing more is earned."""


class Answer(Record):
    """What a model wrote, and what it was asked."""

    text: str
    """The completion: a transcript with code in it, or the code itself."""
    task: str | None = None
    """Name of a built-in task, or the source of a KernelBench-style problem (`Model`, `get_inputs`).

    Give it: without it the answer's own text says which task it is held against.
    """
    id: str = "answer"


class Told(Record):
    """A finding in short."""

    rule: str
    """Code, e.g. `SYN002`."""
    name: str
    line: int | None
    """Line of the submission (1-based); None where no line can be named."""
    message: str
    severity: Severity


class Reward(Record):
    """The scalar, what it is made of, and what it rests on."""

    value: float | None
    """Between `cheating` and the sum of the other weights; None: leave the sample out."""
    parts: dict[str, float] = {}
    """What was earned for what; adds up to `value`."""
    status: Status
    sentence: str
    speedup: float | None = None
    findings: tuple[Told, ...] = ()
    """What is wrong and where, errors first."""
    evaluation: Evaluation


def rewarded(
    evaluation: Evaluation, shaping: Shaping | None = None, findings: Iterable[Finding] = ()
) -> Reward:
    """Return the reward of an evaluation; see the module for the terms."""
    verdict = evaluation.verdict
    known = verdict.status not in UNKNOWN
    parts = _parts(evaluation, shaping or Shaping()) if known else {}
    return Reward(
        value=math.fsum(parts.values()) if known else None,
        parts=parts,
        status=verdict.status,
        sentence=verdict.sentence,
        speedup=verdict.speedup,
        findings=tuple(map(_told, findings)),
        evaluation=evaluation,
    )


def _told(finding: Finding) -> Told:
    return Told(
        rule=finding.rule,
        name=finding.name,
        line=finding.place.line if finding.place is not None else None,
        message=finding.message,
        severity=finding.severity,
    )


def _parts(evaluation: Evaluation, shaping: Shaping) -> dict[str, float]:
    verdict = evaluation.verdict
    if verdict.status in CHEATS:
        return {"cheating": shaping.cheating}
    if verdict.status in NOTHING:
        return {}
    if verdict.status in STOPPED:
        return {"built": shaping.built}
    built = min(shaping.built, shaping.correct)
    partly = min(shaping.partly, shaping.correct - built)
    if verdict.status == "unsound":
        return {"unsound": min(max(shaping.unsound, built + partly), shaping.correct)}
    if verdict.status != "correct":
        return {"built": built, "partly": partly * _share_right(evaluation)}
    parts = {"correct": shaping.correct}
    if verdict.general:
        parts["general"] = shaping.general
    if verdict.speedup_low is not None and verdict.speedup_low > 1.0:
        gained = math.log(verdict.speedup_low) / math.log(shaping.cap)
        parts["speed"] = shaping.speed * min(gained, 1.0)
    return parts


def _share_right(evaluation: Evaluation) -> float:
    """Return the share of the runs that the verdict hangs on whose outputs are right."""
    counted = [item.equal for item in evaluation.comparisons if item.decides]
    lost = sum(run.status != "ran" for run in evaluation.runs)
    return sum(counted) / (len(counted) + lost) if counted else 0.0


class Grader:
    """Grades answers for a training loop; every method may be called from any thread.

    At most `options.jobs` answers are graded at once; what is asked beyond that waits. The same
    program for the same task is evaluated once. Raises GraderError where this machine can't grade.
    """

    def __init__(
        self,
        options: Options | None = None,
        *,
        shaping: Shaping | None = None,
        seed: int | None = None,
    ) -> None:
        chosen = options or Options()
        wanted = next((s for s in (seed, chosen.seed) if s is not None), secrets.randbits(62))
        self._shaping = shaping or Shaping()
        self._workers = open_pool(open_context(chosen, Store(chosen.cache), wanted))
        self.jobs = self._workers.jobs
        self._pool = ThreadPoolExecutor(self.jobs, thread_name_prefix="reward")

    def submit(self, answer: Answer) -> Future[Reward]:
        """Grade in the background. Raises UsageError at once for a task that isn't one."""
        return self._pool.submit(self._grade, answer, _task(answer.task))

    def grade(self, text: str, task: str | None = None) -> Reward:
        """Grade one answer and wait for it; see `Answer` for `task`."""
        return self.submit(Answer(text=text, task=task)).result()

    async def grade_async(self, text: str, task: str | None = None) -> Reward:
        """Grade one answer without holding up the event loop."""
        return await asyncio.wrap_future(self.submit(Answer(text=text, task=task)))

    def grade_batch(self, answers: Iterable[Answer]) -> list[Reward]:
        """Grade answers side by side; the rewards come in the answers' order."""
        futures = [self.submit(answer) for answer in answers]
        return [future.result() for future in futures]

    def close(self, *, wait: bool = True) -> None:
        """Take no more answers; those not begun are dropped."""
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
        text = clean(answer.text)
        sample = Sample(id=answer.id, origin="a training loop", format="transcript", text=text)
        made = self._workers.assess(sample, task)
        return rewarded(made.evaluation, self._shaping, made.findings)


@lru_cache(4096)
def _task(named: str | None) -> Task | None:
    """Return the task of a name or of a problem's source."""
    if named is None:
        return None
    if "\n" not in named:
        if "/" in named or named.endswith(".py"):
            raise UsageError("a task is a name or a source, not a path", "`tasks` lists the names")
        return tasks.named(named, None)
    draft = tasks.from_reference(named)
    if draft is None:
        raise UsageError("the task's source defines no `Model` and `get_inputs`")
    return draft
