"""The host's side of the fork server: starts it and sends it requests."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from grader.errors import GraderError
from grader.sandbox import interpreter, slots

START = 60.0
"""Most seconds for the server's import of torch."""
ANSWER = 10.0
"""Seconds for one fork."""


@dataclass(frozen=True)
class ForkRequest:
    """The settings of a new fork; see grader.guest.fork_server."""

    join: bool
    """Whether to enter the namespaces of the process of the last descriptor; otherwise the user-id form confines it."""
    environment: dict[str, str]
    user_namespace: bool = False
    identity: int = 0


class ForkServer:
    """One fork server, or a branch of it; any thread may send requests."""

    def __init__(self, control: socket.socket, parent: subprocess.Popen[bytes] | None) -> None:
        """Wait until it has loaded its libraries; raises GraderError where it doesn't."""
        self._parent = parent
        self._control = control
        self._lock = threading.Lock()
        self._control.settimeout(START)
        self._expect()
        self._control.settimeout(ANSWER)

    @classmethod
    def start_new(cls) -> ForkServer:
        """Start a fork server."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        program = interpreter.PROGRAM.with_name("fork_server.py")
        # Threads of a maths library would not live on in a fork. Without -B: where torch was installed
        # without bytecode, as uv does, it is compiled once and not in each guest.
        # Nothing is stored there, but torch creates the folder: for root it would be beside /usr.
        unused = str(slots.base() / "unused")
        environment = interpreter.environment(unused, "/tmp")  # noqa: S108 - likewise
        with theirs:
            parent = subprocess.Popen(
                [sys.executable, "-P", "-s", "-u", str(program), str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                pass_fds=(theirs.fileno(),),
                env={**environment, "OPENBLAS_NUM_THREADS": "1"},
                cwd="/",
            )
        return cls(ours, parent)

    def branch(self, libraries: Sequence[str], more: Sequence[str] = ()) -> ForkServer:
        """Return a branch: a fork of this server that has loaded the simulator or `more`, and forks guests with it."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._order({"branch": list(libraries), "more": list(more)}, [theirs.fileno()])
        return ForkServer(ours, None)

    def fork(self, order: ForkRequest, descriptors: Sequence[int]) -> int:
        """Fork one guest with these descriptors: in, out, log, status, and its handle.

        Returns the id of the process that waits for it; raises GraderError where the server is gone.
        """
        return self._order(vars(order), descriptors)

    def _order(self, order: Mapping[str, object], descriptors: Sequence[int]) -> int:
        text = json.dumps(order).encode()
        with self._lock:
            try:
                socket.send_fds(self._control, [text], list(descriptors))
            except OSError as error:
                raise GraderError(f"the fork server is gone: {error}") from error
            return int(self._expect())

    def _expect(self) -> bytes:
        try:
            answer = self._control.recv(64)
        except OSError as error:
            raise GraderError(f"the fork server does not answer: {error}") from error
        if not answer:
            raise GraderError("the fork server has ended")
        return answer

    def close(self) -> None:
        """End the server; guests that it forked live on until their own end."""
        self._control.close()  # ends a branch
        if self._parent is not None:
            with contextlib.suppress(OSError):
                self._parent.kill()
            self._parent.wait()


Key = tuple[int, tuple[str, ...], tuple[str, ...]]
"""Key of a server: its owner process, and the libraries loaded beside torch."""

_lock = threading.Lock()
_fork_servers: dict[Key, ForkServer | None] = {}
_starting: dict[Key, threading.Lock] = {}


def shared_server(libraries: tuple[str, ...] = (), more: tuple[str, ...] = ()) -> ForkServer | None:
    """Return this process's fork server, started at the first call; None where it can't start.

    With `libraries` of the simulator or `more` (`triton`, `shapes`, `exact`: see grader.guest.fork_server), return the
    branch that has loaded them; the server itself where there is none.
    """
    own = os.getpid()  # a forked host must not use its parent's socket
    first = _server((own, (), ()), ForkServer.start_new)
    if first is None or not (libraries or more):
        return first
    return _server((own, libraries, more), lambda: first.branch(libraries, more)) or first


def _server(key: Key, make: Callable[[], ForkServer]) -> ForkServer | None:
    """Return the server of the key; while it starts, only callers for this key wait."""
    with _lock:
        if key in _fork_servers:
            return _fork_servers[key]
        starting = _starting.setdefault(key, threading.Lock())
    with starting:
        with _lock:
            if key in _fork_servers:
                return _fork_servers[key]
        made = _make_server(make)
        with _lock:
            _fork_servers[key] = made
        return made


def _make_server(make: Callable[[], ForkServer]) -> ForkServer | None:
    try:
        return make()
    except (GraderError, OSError):
        return None


def forget(fork_server: ForkServer) -> None:
    """Drop a failed server; the next call of `shared_server` starts another."""
    with _lock:
        for key in [key for key, known in _fork_servers.items() if known is fork_server]:
            del _fork_servers[key]
    fork_server.close()
