"""The reward over HTTP, for a trainer on another machine: `kernel-grader serve`.

    POST /grade   {"text": ..., "task": ...}  ->  {"score": 0.7, "status": "correct", ...}
    GET  /health                              ->  {"status": "ok", "waiting": 3}

Each request carries `Authorization: Bearer TOKEN`. Beyond the queue's size a request is answered
with 429 and `Retry-After` at once: the trainer keeps the excess requests, not this process. Where the grader itself
fails (a full disk, a worker lost three times) the answer is 503 with `Retry-After`. Needs the extra `serve` (Starlette
and Uvicorn).
"""

from __future__ import annotations

import asyncio
import difflib
import hmac
import json
import logging
from typing import Any

from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from grader.errors import GraderError, UsageError
from grader.reward import Answer, Grader, shown_to_trainer

MOST_BYTES = 16 << 20
"""Most bytes of a request."""
MOST_DROPPED = 16 * MOST_BYTES
"""Most bytes read of a request before the connection is closed."""
EXPECTED = 'send {"text": "the completion", "task": "softmax"}'
MOST_SECONDS = 30.0
"""Seconds for a request to arrive, during which it holds a place in the queue."""
IDLE_SECONDS = 75
"""Seconds that a connection stays open between requests, longer than clients' own limits (httpx 5 s, aiohttp 15): if
both sides closed it at the same moment, the client's next request would be lost."""
AGAIN = {"Retry-After": "2"}
"""Headers of an answer that asks to retry, with the delay in seconds."""
logger = logging.getLogger(__name__)


class Service:
    """Answers requests with one grader; refuses requests when its queue is full."""

    def __init__(self, grader: Grader, token: str, queue: int) -> None:
        self._grader = grader
        self._token = token.encode()
        self._queue = queue
        self._waiting = 0  # only touched on the event loop

    def application(self) -> Starlette:
        """Return the ASGI application."""
        return Starlette(
            routes=[
                Route("/grade", self.grade, methods=["POST"]),
                Route("/health", self.health, methods=["GET"]),
            ],
            exception_handlers={HTTPException: answer_unrouted},
        )

    async def health(self, request: Request) -> JSONResponse:
        """Return the number of answers that are waiting or being graded."""
        if not self._is_allowed(request):
            return answer_refused(401, "no such token")
        return JSONResponse({"status": "ok", "waiting": self._waiting, "queue": self._queue})

    async def grade(self, request: Request) -> JSONResponse:
        """Grade one answer."""
        if not self._is_allowed(request):
            return answer_refused(401, "no such token")
        if self._waiting >= self._queue:
            return answer_refused(429, "the queue is full", AGAIN)
        self._waiting += 1
        try:
            body = await body_of(request)
            if body is None:
                return answer_refused(413, f"more than {MOST_BYTES} bytes")
            answer = _answer(body)
            reward = await self._grader.grade_async(answer.text, answer.task)
        except SlowClientError as error:
            return answer_refused(408, str(error))
        except UsageError as error:
            return answer_refused(422, str(error)[:1000])
        except Exception as error:
            logger.warning("a request failed", exc_info=not isinstance(error, GraderError))
            return answer_refused(503, str(error)[:1000] or type(error).__name__, AGAIN)
        finally:
            self._waiting -= 1
        if reward.status == "grader_error":
            return answer_refused(503, reward.sentence[:1000], AGAIN)
        return JSONResponse(shown_to_trainer(reward))

    def _is_allowed(self, request: Request) -> bool:
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        return kind.lower() == "bearer" and hmac.compare_digest(given.encode(), self._token)


def _answer(body: bytes) -> Answer:
    """Return the answer to grade. Raises UsageError with a message for the client's author."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the body is not JSON: {error}", EXPECTED) from error
    if not isinstance(value, dict):
        raise UsageError(f"the body is a JSON {type(value).__name__}, not an object", EXPECTED)
    for name in value:
        if name not in Answer.model_fields:
            near = difflib.get_close_matches(name, Answer.model_fields, n=1)
            hint = f"did you mean {near[0]!r}?" if near else EXPECTED
            raise UsageError(f"a request has no field {name!r}", hint)
    if "text" not in value:
        raise UsageError("the request has no field 'text'", EXPECTED)
    try:
        return Answer.model_validate(value)
    except ValidationError as error:
        name = str(error.errors()[0]["loc"][0])
        raise UsageError(f"the field {name!r} must be a string", EXPECTED) from error


class SlowClientError(Exception):
    """A request's body didn't arrive in time, which, unlike other timeouts, is the client's fault."""


async def body_of(request: Request) -> bytes | None:
    """Return the request's body; None where it is too long. Raises SlowClientError where it doesn't arrive."""
    try:
        async with asyncio.timeout(MOST_SECONDS):
            return await _read_body(request)
    except TimeoutError as error:
        raise SlowClientError(f"not there after {MOST_SECONDS:.0f} s") from error


async def _read_body(request: Request) -> bytes | None:
    """Read a body to its end, but keep no more than the allowed length.

    The rest is read and dropped, since a client that is still writing may never read the answer.
    """
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size <= MOST_BYTES:
            parts.append(part)
        elif size > MOST_DROPPED:
            break
    return b"".join(parts) if size <= MOST_BYTES else None


def answer_unrouted(request: Request, error: Exception) -> JSONResponse:
    """Answer an unknown path with the list of paths and their methods."""
    status = error.status_code if isinstance(error, HTTPException) else 404
    routes = (route for route in request.app.routes if isinstance(route, Route))
    known = ", ".join(
        f"{min((route.methods or set()) - {'HEAD'})} {route.path}" for route in routes
    )
    return answer_refused(
        status, f"nothing answers {request.method} {request.url.path} (there is {known})"
    )


def answer_refused(status: int, reason: str, headers: dict[str, str] | None = None) -> JSONResponse:
    """Return an answer with the reason why there is no grade."""
    return JSONResponse({"error": reason}, status_code=status, headers=headers)


def run(application: Any, *, host: str, port: int) -> None:
    """Serve an application until interrupted. Raises GraderError where the address is taken."""
    import uvicorn

    settings = uvicorn.Config(
        application,
        host=host,
        port=port,
        log_level="warning",
        timeout_graceful_shutdown=5,
        timeout_keep_alive=IDLE_SECONDS,
    )
    try:
        uvicorn.Server(settings).run()
    except SystemExit as error:  # uvicorn exits so if it can't listen
        raise GraderError(f"can't listen on {host}:{port}", "choose another --port") from error
