"""A form of isolation, and a guest that was started under one."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grader.errors import GraderError
from grader.sandbox.limits import Limits

WARDEN_TIME = 30.0
"""Seconds that a warden has to end a tree; a bomb of a few hundred processes takes a fraction."""


@dataclass(frozen=True)
class Plan:
    """What a form must know to start a guest."""

    limits: Limits
    device: str
    """`sim`, `cuda` or `cpu`; device nodes are shown only for `cuda`."""
    read_only: tuple[Path, ...] = ()
    """Files and folders beyond interpreter and system that the guest may read."""
    slot: str = "guest"
    """Names the scratch folder: the same path for the same slot, so that ninja rebuilds nothing."""


@dataclass(frozen=True)
class Form(ABC):
    """One way to keep a guest in; frozen, so that a report can quote it."""

    name: str
    covers: tuple[str, ...]
    lacks: tuple[str, ...]

    @abstractmethod
    def start(self, plan: Plan) -> Guest:
        """Start a guest's process; raises GraderError where that fails."""


@dataclass
class Guest:
    """A started guest: its channel, its log, and the power to end it."""

    process: subprocess.Popen[bytes]
    to_guest: int
    from_guest: int
    log: int
    scratch: str
    """Path of the scratch folder as the guest sees it."""
    confine: dict[str, Any]
    """What it is to give up first: header of the `confine` frame."""
    filter: bytes = b""
    """System-call filter, or b""."""
    disk: Path | None = None
    """The scratch folder on the host, where it must be watched; None for a limited tmpfs."""
    lifeline: int = -1
    """Closing it tells a warden to end the tree."""
    first: int = -1
    """pidfd of the first process of a pid namespace, whose death is the death of all in it."""
    ends: list[Callable[[], None]] = field(default_factory=list)
    """What is to be done after the last process is gone, last first."""

    def kill(self) -> None:
        """End the whole process tree and wait until nothing is left of it."""
        if self.lifeline >= 0:
            os.close(self.lifeline)
            self.lifeline = -1
            self.wait(WARDEN_TIME)
        if self.first >= 0:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.first, signal.SIGKILL)
            select.select([self.first], [], [])
            os.close(self.first)
            self.first = -1
        self.process.kill()
        self.process.wait()
        while self.ends:
            self.ends.pop()()

    def wait(self, seconds: float) -> int | None:
        """Return the exit status (negative: signal), or None if it still runs."""
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        # bwrap hands a signal of its child on as a status above 128.
        return 128 - status if status > 128 and status - 128 in set(signal.Signals) else status

    def close(self) -> None:
        """Close this side's descriptors."""
        for descriptor in {self.to_guest, self.from_guest, self.log} - {-1}:
            os.close(descriptor)
        self.to_guest = self.from_guest = self.log = -1


def spawn(
    command: Callable[[int, int], list[str]],
    environment: dict[str, str],
    **guest: Any,
) -> Guest:
    """Start `command(read_fd, write_fd)` with a channel and a log pipe of its own."""
    guest_in, to_guest = os.pipe2(os.O_CLOEXEC)
    from_guest, guest_out = os.pipe2(os.O_CLOEXEC)
    log, log_in = os.pipe2(os.O_CLOEXEC)
    try:
        process = subprocess.Popen(
            command(guest_in, guest_out),
            stdin=subprocess.DEVNULL,
            stdout=log_in,
            stderr=log_in,
            pass_fds=(guest_in, guest_out, *guest.pop("pass_fds", ())),
            env=environment,
            cwd="/",
        )
    except OSError as error:
        for descriptor in (to_guest, from_guest, log):
            os.close(descriptor)
        raise GraderError(f"a guest could not be started: {error}") from error
    finally:
        for descriptor in (guest_in, guest_out, log_in):
            os.close(descriptor)
    return Guest(process, to_guest, from_guest, log, **guest)


def resource_limits(limits: Limits, device: str) -> dict[str, int]:
    """The rlimits of a guest by name; inherited by every process that it starts."""
    wanted = {
        "RLIMIT_CPU": int(limits.cpu) + 1,
        "RLIMIT_FSIZE": limits.file_size,
        "RLIMIT_NOFILE": limits.open_files,
        "RLIMIT_NPROC": limits.processes,
        "RLIMIT_CORE": 0,
        "RLIMIT_MEMLOCK": 64 << 20,
        "RLIMIT_MSGQUEUE": 1 << 16,
    }
    if device != "cuda":
        # Counts private writable memory; a CUDA context maps far more than it uses.
        wanted["RLIMIT_DATA"] = limits.memory
    return wanted


def threads_of(uid: int) -> int:
    """Return how many threads the user has, as RLIMIT_NPROC counts them."""
    total = 0
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and entry.stat().st_uid == uid:
                total += len(os.listdir(entry / "task"))  # noqa: PTH208 - many of them
        except OSError:
            continue
    return total
