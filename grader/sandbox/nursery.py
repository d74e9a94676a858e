"""The host's hold on the warm parent: starts it and sends it orders."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from grader.errors import GraderError
from grader.sandbox import interpreter

START = 60.0
"""Seconds that the parent may take to import torch."""
ANSWER = 10.0
"""Seconds for one fork."""


@dataclass(frozen=True)
class Order:
    """What a fork is to become; see grader.guest.warm."""

    join: bool
    """Enter the namespaces of the process that the last descriptor is for, else be warded."""
    environment: dict[str, str]
    user_namespace: bool = False
    identity: int = 0


class Nursery:
    """One warm parent; any thread may order."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        program = interpreter.PROGRAM.with_name("warm.py")
        # Threads of a maths library would not live on in a fork.
        environment = interpreter.environment("/nonexistent", "/tmp")  # noqa: S108 - unused
        with theirs:
            self._parent = subprocess.Popen(
                [sys.executable, "-P", "-s", "-B", "-u", str(program), str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                pass_fds=(theirs.fileno(),),
                env={**environment, "OPENBLAS_NUM_THREADS": "1"},
                cwd="/",
            )
        self._control = ours
        self._lock = threading.Lock()
        self._control.settimeout(START)
        self._expect()
        self._control.settimeout(ANSWER)

    def fork(self, order: Order, descriptors: Sequence[int]) -> int:
        """Have one guest forked with these descriptors: in, out, log, status, and its handle.

        Returns the id of the process that stays with it; raises GraderError where the parent is
        gone.
        """
        text = json.dumps(vars(order)).encode()
        with self._lock:
            try:
                socket.send_fds(self._control, [text], list(descriptors))
            except OSError as error:
                raise GraderError(f"the warm parent is gone: {error}") from error
            return int(self._expect())

    def _expect(self) -> bytes:
        try:
            answer = self._control.recv(64)
        except OSError as error:
            raise GraderError(f"the warm parent does not answer: {error}") from error
        if not answer:
            raise GraderError("the warm parent has ended")
        return answer

    def close(self) -> None:
        """End the parent; guests that it forked live on until their own end."""
        self._control.close()
        with contextlib.suppress(OSError):
            self._parent.kill()
        self._parent.wait()


_lock = threading.Lock()
_nurseries: dict[int, Nursery | None] = {}


def shared() -> Nursery | None:
    """Return this process's warm parent, started at the first call; None where it can't start."""
    with _lock:
        # A forked host must not speak over its parent's socket.
        if os.getpid() not in _nurseries:
            _nurseries.clear()
            try:
                _nurseries[os.getpid()] = Nursery()
            except (GraderError, OSError):
                _nurseries[os.getpid()] = None
        return _nurseries[os.getpid()]


def forget(nursery: Nursery) -> None:
    """Do without a parent that has failed; the next call of `shared` starts another."""
    with _lock:
        if _nurseries.get(os.getpid()) is nursery:
            del _nurseries[os.getpid()]
    nursery.close()
