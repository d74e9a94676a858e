"""The trial of a form on this machine: a real guest tries to break its promises."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from functools import cache
from pathlib import Path
from typing import IO

from grader.errors import GraderError
from grader.guest.protocol import Frame, ProtocolError
from grader.sandbox.channel import GuestEndedError, GuestGreedyError, GuestLateError, HostChannel
from grader.sandbox.fork_server import ForkServer, shared_server
from grader.sandbox.form import Form, Plan
from grader.sandbox.limits import Limits

LIMITS = Limits(wall=60, start=60)


@cache
def hold(form: Form) -> str:
    """Return "" where the form holds on this machine, else the reason."""
    return _broken_promise(form, None)


_one_at_a_time = threading.Lock()


def holds_warm(form: Form) -> bool:
    """Whether it holds for guests of the fork server as well."""
    with _one_at_a_time:  # all workers ask at once at the start of a batch
        return _holds_warm(form)


def warm_up(form: Form, libraries: tuple[str, ...]) -> None:
    """Start the fork server and its branches: torch, then torch's shape rules, and the simulator.

    Returns at once; a caller that needs a guest waits only for its own branch.
    """
    loaded: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
        (libraries, ()),
        ((), ("shapes",)),
    )

    def load(one: tuple[tuple[str, ...], tuple[str, ...]]) -> None:
        if holds_warm(form):
            shared_server(*one)

    for one in loaded:
        threading.Thread(target=load, args=(one,), daemon=True).start()


@cache
def _holds_warm(form: Form) -> bool:
    fork_server = shared_server()
    return fork_server is not None and not _broken_promise(form, fork_server)


def _broken_promise(form: Form, fork_server: ForkServer | None) -> str:
    try:
        guest = form.start(Plan(LIMITS, "cpu", slot="trial"), fork_server)
    except (GraderError, OSError) as error:
        return str(error)
    channel = HostChannel(guest, LIMITS)
    secret = _secret()
    writable = [str(_home()), "/", "/usr", "/etc"]
    end = time.monotonic() + LIMITS.wall
    try:
        channel.send(Frame("confine", guest.confine), Frame("filter", {}, guest.filter))
        channel.receive(end, "hello")
        channel.send(Frame("probe", {"readable": [secret.name], "writable": writable}))
        broken = channel.receive(end, "probed").header["broken"]
    except GuestLateError:
        broken = ["its guest did not answer"]
    except (GuestEndedError, GuestGreedyError, ProtocolError, OSError) as error:
        broken = [str(error) or "its guest did not start"]
    finally:
        guest.kill()
        channel.close()
        guest.close()
        secret.close()
    text = "; ".join(broken)
    return f"{text}: {channel.log.text().strip()[-300:]}" if broken else ""


def _home() -> Path:
    """Return the home folder; "/" for an id that is not in the user database."""
    try:
        return Path.home()
    except RuntimeError:
        return Path("/")


def _secret() -> IO[bytes]:
    """Return a file that only this user may read, in the home folder if it is writable."""
    home = _home()
    folder = home if home.is_dir() and os.access(home, os.W_OK) else None
    secret = tempfile.NamedTemporaryFile(  # noqa: SIM115 - the caller closes it
        prefix=".kernel-grader-secret-", dir=folder
    )
    secret.write(b"secret")
    secret.flush()
    return secret
