"""A worker process, as seen by the leading process of the run."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import TextIO

from grader.machine import python_path
from grader.scheduling.messages import Request, Response, Settings


class LostError(Exception):
    """The process ended before it answered; the text says how."""


class WorkerProcess:
    """A process that grades one sample on each of its connections at once; started at the first request."""

    def __init__(self, settings: Settings, lines: int) -> None:
        self._settings = settings
        self._count = lines
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._lines: list[TextIO] = []
        self._closed = False

    def ask(self, line: int, request: Request, stage: Callable[[str], None]) -> Response:
        """Execute a request, in a new process where the last one has ended.

        Only one thread may use a connection at a time. Raises LostError where the process ends meanwhile.
        """
        process, file = self._line(line)
        try:
            file.write(request.line())
            file.flush()
            for text in file:
                response = Response.of(text)
                if not response.stage:
                    return response
                stage(response.stage)
        except OSError:
            pass
        raise LostError(f"a process of this program {self._bury_process(process)}")

    def start(self) -> None:
        """Start it before the first request."""
        with contextlib.suppress(LostError):
            self._line(0)

    def close(self) -> None:
        """End the process and its guests; later requests raise LostError."""
        with self._lock:
            self._closed = True
            process, self._process = self._process, None
        if process is not None:
            _end(process)

    def _line(self, number: int) -> tuple[subprocess.Popen[str], TextIO]:
        with self._lock:
            if self._closed:
                raise LostError("it was ended")
            if self._process is None:
                self._process, self._lines = _start_worker(self._settings, self._count)
            return self._process, self._lines[number]

    def _bury_process(self, process: subprocess.Popen[str]) -> str:
        """Make sure that it has ended, so that the next request starts another; return how it ended."""
        with self._lock:
            _end(process)
            if self._process is process:
                self._process = None
        status = process.returncode
        return f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"


def _start_worker(settings: Settings, count: int) -> tuple[subprocess.Popen[str], list[TextIO]]:
    pairs = [socket.socketpair() for _ in range(count)]
    theirs = [their for _, their in pairs]
    numbers = ",".join(str(their.fileno()) for their in theirs)
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "grader.scheduling.worker_process", numbers],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,  # our own standard output may be a pipe that a program parses
        pass_fds=[their.fileno() for their in theirs],
        env={**os.environ, "PYTHONPATH": python_path()},
        text=True,
    )
    for their in theirs:
        their.close()
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError):  # it has ended: the first request reports it
        process.stdin.write(settings.line())
        process.stdin.flush()
    return process, [ours.makefile("rw", encoding="ascii") for ours, _ in pairs]


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
