"""A process of the crew: `python -m grader.crew.member DESCRIPTORS`, with its settings on standard input.

Grades one sample at a time for each socket. It ends with its standard input, so with the process that
started it, however that ends.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable

from grader.build.admission import ADMISSION
from grader.crew.orders import Order, Said, Settings
from grader.crew.work import carry_out
from grader.pipeline import Workshop, open_workshop
from grader.store import Store


def main() -> None:
    """Serve until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all of us
    settings = Settings.of(sys.stdin.readline())
    ADMISSION.share(settings.processes)
    options = settings.options
    workshop = open_workshop(options, Store(options.cache), settings.seed)
    for descriptor in map(int, sys.argv[1].split(",")):
        threading.Thread(target=_serve, args=(workshop, descriptor), daemon=True).start()
    sys.stdin.read()
    os._exit(0)  # its threads wait for guests, which end with it


def _serve(workshop: Workshop, descriptor: int) -> None:
    with socket.socket(fileno=descriptor) as line, line.makefile("rw", encoding="ascii") as file:

        def say(said: Said) -> None:
            file.write(said.line())
            file.flush()

        for text in file:
            say(_done(workshop, Order.of(text), lambda stage: say(Said(stage=stage))))


def _done(workshop: Workshop, order: Order, stage: Callable[[str], None]) -> Said:
    try:
        return carry_out(workshop, order, stage)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is said where the run is led
        return Said(failure=str(error) or type(error).__name__)


if __name__ == "__main__":
    main()
