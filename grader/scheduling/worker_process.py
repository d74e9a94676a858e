"""A worker process: `python -m grader.scheduling.worker_process DESCRIPTORS`, with its settings on standard input.

Grades one sample at a time for each socket. It ends when its standard input closes, and so with the process that
started it.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable

from grader.build.admission import ADMISSION
from grader.pipeline import GradingContext, open_context
from grader.pipeline.context import warm_up
from grader.scheduling.grade_one import grade_one
from grader.scheduling.messages import Request, Response, Settings
from grader.store import Store


def main() -> None:
    """Serve until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends the interrupt to all processes
    settings = Settings.of(sys.stdin.readline())
    ADMISSION.share(settings.processes)
    options = settings.options
    grading = open_context(options, Store(options.cache), settings.seed)
    warm_up(grading)
    for descriptor in map(int, sys.argv[1].split(",")):
        threading.Thread(target=_serve, args=(grading, descriptor), daemon=True).start()
    sys.stdin.read()
    os._exit(0)  # its threads wait for guests, which end with it


def _serve(grading: GradingContext, descriptor: int) -> None:
    with socket.socket(fileno=descriptor) as line, line.makefile("rw", encoding="ascii") as file:

        def say(response: Response) -> None:
            file.write(response.line())
            file.flush()

        for text in file:
            say(
                _answer_request(grading, Request.of(text), lambda stage: say(Response(stage=stage)))
            )


def _answer_request(
    grading: GradingContext, request: Request, stage: Callable[[str], None]
) -> Response:
    try:
        return grade_one(grading, request, stage)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is response where the run is led
        return Response(failure=str(error) or type(error).__name__)


if __name__ == "__main__":
    main()
