"""The reward over KernelGYM's wire protocol: `kernel-grader serve --protocol kernelgym`.

    POST /evaluate       {"task_id", "reference_code", "kernel_code", ...}  ->  {"task_id", "status": "pending"}
    GET  /status/{id}    ->  {"task_id", "status": "pending" | "processing" | "completed" | "failed" | "timeout"}
    GET  /results/{id}   ->  {"compiled", "correctness", "decoy_kernel", "speedup", "metadata", ...}
    GET  /health         ->  {"status": "healthy", ...}

429 where the queue is full and 503 where this machine can't grade just now, both with `Retry-After`: clients back off
and retry. A task id that is sent again, as after a connection that broke, is the same task.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from grader.errors import GraderError, UsageError
from grader.records import Evaluation
from grader.reward import CHEATS, UNKNOWN, Answer, Graded, Grader, Level, feedback
from grader.service.http import (
    AGAIN,
    MOST_BYTES,
    SlowClientError,
    answer_refused,
    answer_unrouted,
    body_of,
)

KEPT = 10_000
"""Most finished tasks whose results are kept; the oldest are dropped first."""
PAUSE_SECONDS = 5.0
"""Seconds without new tasks after a failure of our own, such as a full disk."""
TaskStatus = Literal["pending", "processing", "completed", "failed", "timeout"]
ERRORS = {
    "no_code": "VALIDATION_ERROR",
    "rejected": "VALIDATION_ERROR",
    "build_failed": "COMPILATION_ERROR",
    "build_timeout": "COMPILATION_ERROR",
    "crashed": "RUNTIME_ERROR",
    "hung": "TIMEOUT_ERROR",
    "timeout": "TIMEOUT_ERROR",
    "incorrect": "CORRECTNESS_ERROR",
    "dishonest": "CORRECTNESS_ERROR",
    "unsound": "CORRECTNESS_ERROR",
}
"""The protocol's error code for each status that isn't a success."""


class Asked(BaseModel):
    """A client's request; fields of the protocol without effect here are accepted and ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    task_id: str = Field(min_length=1, max_length=100)
    reference_code: str = Field(min_length=10)
    kernel_code: str = Field(min_length=10)
    entry_point: str = Field("Model", pattern=r"^[A-Za-z_]\w{0,80}$")
    timeout: float = Field(300.0, gt=0)
    force_refresh: bool = False

    @property
    def answer(self) -> Answer:
        """Return it as an answer; classes with other names are renamed to ours."""
        if self.entry_point == "Model":
            return Answer(text=self.kernel_code, task=self.reference_code, id=self.task_id)
        return Answer(
            text=f"{self.kernel_code}\n\nModelNew = {self.entry_point}New\n",
            task=f"{self.reference_code}\n\nModel = {self.entry_point}\n",
            id=self.task_id,
        )


@dataclass
class Task:
    """One task in progress; only accessed on the event loop."""

    id: str
    status: TaskStatus = "pending"
    result: dict[str, Any] = field(default_factory=dict)
    error: str = ""
    begun: float = field(default_factory=time.monotonic)


class KernelGym:
    """Answers requests with one grader; refuses what its queue has no room for."""

    def __init__(self, grader: Grader, queue: int, level: Level = "line") -> None:
        self._grader = grader
        self._queue = queue
        self._level = level
        self._tasks: OrderedDict[str, Task] = OrderedDict()
        self._running: set[asyncio.Task[None]] = set()
        self._paused_until = 0.0

    def application(self) -> Starlette:
        """Return the ASGI application."""
        return Starlette(
            routes=[
                Route("/evaluate", self.evaluate, methods=["POST"]),
                Route("/status/{task_id}", self.status, methods=["GET"]),
                Route("/results/{task_id}", self.results, methods=["GET"]),
                Route("/health", self.health, methods=["GET"]),
            ],
            exception_handlers={HTTPException: answer_unrouted},
        )

    async def evaluate(self, request: Request) -> JSONResponse:
        """Accept a task, or ask to retry."""
        if len(self._running) >= self._queue:
            return answer_refused(429, "the queue is full", AGAIN)
        if time.monotonic() < self._paused_until:
            return answer_refused(503, "the grader failed a moment ago", AGAIN)
        try:
            body = await body_of(request)
            if body is None:
                return answer_refused(413, f"more than {MOST_BYTES} bytes")
            asked = _read_request(body)
            known = self._tasks.get(asked.task_id)
            if known is None or (asked.force_refresh and known.result):
                if len(self._running) >= self._queue:  # the queue filled up while the body arrived
                    return answer_refused(429, "the queue is full", AGAIN)
                known = self._begin(asked)
        except SlowClientError as error:
            return answer_refused(408, str(error))
        except UsageError as error:
            return answer_refused(422, str(error)[:1000])
        return JSONResponse({"task_id": known.id, "status": known.status})

    async def status(self, request: Request) -> JSONResponse:
        """Return a task's status."""
        task = self._tasks.get(request.path_params["task_id"])
        if task is None:
            return answer_refused(404, "no such task; results are kept for a while only")
        said = {"task_id": task.id, "status": task.status}
        return JSONResponse(said | ({"error_message": task.error} if task.error else {}))

    async def results(self, request: Request) -> JSONResponse:
        """Return the result of a finished task."""
        task = self._tasks.get(request.path_params["task_id"])
        if task is None or not task.result:
            return answer_refused(
                404, "no such task" if task is None else "the task is not finished"
            )
        return JSONResponse(task.result)

    async def health(self, request: Request) -> JSONResponse:
        """Return the number of tasks that are waiting or being graded."""
        del request
        waiting = len(self._running)
        return JSONResponse({"status": "healthy", "active_tasks": waiting, "queue": self._queue})

    def _begin(self, asked: Asked) -> Task:
        future = self._grader.begin(asked.answer)  # raises UsageError for an unknown task
        task = self._tasks[asked.task_id] = Task(asked.task_id)
        self._tasks.move_to_end(asked.task_id)
        running = asyncio.create_task(self._follow(task, asyncio.wrap_future(future), asked))
        self._running.add(running)
        running.add_done_callback(self._running.discard)
        self._forget()
        return task

    async def _follow(self, task: Task, graded: asyncio.Future[Graded], asked: Asked) -> None:
        """Wait for a task's reward; it holds its place in the queue until the grading is over."""
        task.status = "processing"
        done, _ = await asyncio.wait([graded], timeout=asked.timeout)
        if not done:
            self._over(task, "timeout", f"not graded after {asked.timeout:.0f} s")
            await asyncio.wait([graded])
            return
        try:
            found = graded.result()
        except Exception as error:  # noqa: BLE001 - whatever of ours failed, the client is told to come again
            self._fail_task(task, error)
        else:
            self._finish_task(task, found, asked.kernel_code)

    def _finish_task(self, task: Task, graded: Graded, code: str) -> None:
        reward = graded.reward
        if reward.status == "grader_error":
            self._fail_task(task, GraderError(reward.sentence))
        elif reward.status in UNKNOWN:
            self._over(task, "failed", f"not graded: {reward.sentence}")
        else:
            said = result(graded, self._level, code)
            seconds = time.monotonic() - task.begun
            task.result = {"task_id": task.id, "status": "completed", **said}
            task.result["processing_time"] = seconds
            task.status = "completed"

    def _fail_task(self, task: Task, error: Exception) -> None:
        if isinstance(error, GraderError):
            self._paused_until = time.monotonic() + PAUSE_SECONDS
        self._over(
            task, "failed", f"the grader failed, send it again under another id: {error}"[:1000]
        )

    def _over(self, task: Task, status: TaskStatus, why: str) -> None:
        task.status, task.error = status, why
        task.result = {
            "task_id": task.id,
            "status": status,
            "error_message": why,
            "error_code": "TIMEOUT_ERROR" if status == "timeout" else "SYSTEM_ERROR",
        }

    def _forget(self) -> None:
        """Drop the oldest results beyond the limit."""
        over = [name for name, task in self._tasks.items() if task.result]
        for name in over[: max(len(self._tasks) - KEPT, 0)]:
            del self._tasks[name]


def result(graded: Graded, level: Level, code: str) -> dict[str, Any]:
    """Return a grading in the protocol's format; unmeasured values are left out, so clients use their defaults.

    Its messages are those of the feedback, which clients show to the model in its next turn.
    """
    reward, told = graded.reward, feedback(graded.assessment, level, code)
    status, own = reward.status, reward.evaluation.own_share
    said: dict[str, Any] = {
        "compiled": reward.signals.get("built", 0.0) == 1.0,
        "correctness": status == "correct",
        "decoy_kernel": status in CHEATS or own == 0.0,
        "metadata": {
            "verdict": status,
            "general": reward.evaluation.verdict.general,
            "fails_with": reward.evaluation.verdict.fails_with,
            "own_share": own,
            "reward": reward.value,
            "causes": [cause.model_dump(mode="json") for cause in told.causes],
            "device": reward.evaluation.device,
            **_kernels(reward.evaluation),
        },
    }
    if status != "correct":
        said |= {"error_message": told.text, "error_code": ERRORS.get(status, "UNKNOWN_ERROR")}
    return said | _times(reward.evaluation)


def _kernels(evaluation: Evaluation) -> dict[str, int]:
    """Return the number of kernels in a call, and of the answer's own among them."""
    from grader.judge.honesty import computing_operators

    run = next((run for run in evaluation.runs if run.status == "ran"), None)
    if run is None:
        return {}
    own = sum(launch.count for launch in run.launches)
    return {"num_custom_kernels": own, "num_total_kernels": own + len(computing_operators([run]))}


def _times(evaluation: Evaluation) -> dict[str, float]:
    if evaluation.verdict.speedup is None:
        return {}
    times = {timing.what: timing.median for timing in evaluation.timings}
    runtimes = {"kernel_runtime": times.get("submission"), "reference_runtime": times.get("eager")}
    measured = {name: value for name, value in runtimes.items() if value is not None}
    return {"speedup": evaluation.verdict.speedup, **measured}


def _read_request(body: bytes) -> Asked:
    """Return the parsed request. Raises UsageError with a message for the client's author."""
    try:
        return Asked.model_validate(json.loads(body))
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"])) or "the body"
        raise UsageError(f"{name}: {first['msg']}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the body is not JSON: {error}") from error
