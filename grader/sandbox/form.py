"""A form of isolation, and a guest started under one."""

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
from grader.sandbox.fork_server import ForkRequest, ForkServer
from grader.sandbox.limits import Limits

REAPER_TIME = 30.0
"""Seconds for a reaper to end a process tree; a fork bomb of a few hundred processes takes a fraction."""


@dataclass(frozen=True)
class Plan:
    """The inputs of a form to start a guest."""

    limits: Limits
    device: str
    """`sim`, `cuda` or `cpu`; device nodes are shown only for `cuda`."""
    read_only: tuple[Path, ...] = ()
    """Files and folders beyond interpreter and system that the guest may read."""
    slot: str = "guest"
    """Names the scratch folder: the same path for the same slot, so that ninja rebuilds nothing."""
    under: tuple[str, ...] = ()
    """A program and its arguments that starts the interpreter and watches it."""


@dataclass(frozen=True)
class Form(ABC):
    """One form of isolation; frozen, so that a report can quote it."""

    name: str
    covers: tuple[str, ...]
    lacks: tuple[str, ...]

    @abstractmethod
    def start(self, plan: Plan, fork_server: ForkServer | None = None) -> Guest:
        """Start a guest, through the fork server if given; raises GraderError or OSError."""


@dataclass
class Guest:
    """A running guest: its channel, its log, and the handles to end it."""

    to_guest: int
    from_guest: int
    log: int
    scratch: str
    """Path of the scratch folder as the guest sees it."""
    confine: dict[str, Any]
    """Header of the `confine` frame, with the rights that it gives up first."""
    filter: bytes = b""
    """System-call filter, or b""."""
    process: subprocess.Popen[bytes] | None = None
    """bwrap, or the reaper of a guest that was started afresh."""
    fork: int = 0
    """Id of the process that stays with a guest forked by the fork server."""
    status: int = -1
    """Pipe on which that process reports the guest's exit status."""
    disk: Path | None = None
    """The scratch folder on the host, where it must be watched; None for a limited tmpfs."""
    lifeline: int = -1
    """Closing it ends the tree: by a reaper, or with the namespace's first process."""
    first: int = -1
    """pidfd of the first process of a pid namespace, whose death is the death of all in it."""
    ends: list[Callable[[], None]] = field(default_factory=list)
    """Clean-up callbacks for after the last process is gone, called in reverse order."""
    took: Callable[[], float] | None = None
    """Seconds for its last frame, where a relay measures them."""

    @property
    def roots(self) -> tuple[int, ...]:
        """Processes below which all of the guest's are."""
        return tuple(filter(None, (self.process.pid if self.process else 0, self.fork)))

    def kill(self) -> None:
        """End the whole process tree and wait until nothing is left of it."""
        self.lifeline = _close(self.lifeline)
        if self.first >= 0:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.first, signal.SIGKILL)
            _readable(self.first, None)
            self.first = _close(self.first)
        self.wait(REAPER_TIME)
        self.status = _close(self.status)
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        while self.ends:
            # Each callback frees its own resource; leftovers are removed at the next guest's start.
            with contextlib.suppress(OSError):
                self.ends.pop()()

    def wait(self, seconds: float) -> int | None:
        """Return the exit status (negative: signal), or None if it still runs."""
        status = self._read_told_status(seconds) if self.fork else self._wait_for_exit(seconds)
        # A signal is handed on as a status above 128.
        known = status is not None and status - 128 in set(signal.Signals)
        return 128 - status if known and status is not None else status

    def _wait_for_exit(self, seconds: float) -> int | None:
        try:
            return self.process.wait(seconds) if self.process is not None else None
        except subprocess.TimeoutExpired:
            return None

    def _read_told_status(self, seconds: float) -> int | None:
        if self.status < 0 or not _readable(self.status, seconds):
            return None
        text = os.read(self.status, 16)
        return int(text) if text else -signal.SIGKILL

    def close(self) -> None:
        """Close this side's descriptors."""
        for descriptor in (self.to_guest, self.from_guest, self.log):
            _close(descriptor)
        self.to_guest = self.from_guest = self.log = -1


def _readable(descriptor: int, seconds: float | None) -> bool:
    """Wait until something can be read (or a process has ended); select(2) stops at 1023."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(None if seconds is None else seconds * 1000))


def _close(descriptor: int) -> int:
    """Close a descriptor if open; return the value for a closed one."""
    if descriptor >= 0:
        os.close(descriptor)
    return -1


@dataclass
class Pipes:
    """The three pipes of a guest, and the guest's ends."""

    reader: int
    writer: int
    log_in: int
    ours: tuple[int, int, int]
    """To the guest, from the guest, its log."""

    @classmethod
    def make(cls) -> Pipes:
        """Open the pipes; none is inherited unless passed explicitly."""
        reader, to_guest = os.pipe2(os.O_CLOEXEC)
        from_guest, writer = os.pipe2(os.O_CLOEXEC)
        log, log_in = os.pipe2(os.O_CLOEXEC)
        return cls(reader, writer, log_in, (to_guest, from_guest, log))

    def handed_over(self) -> None:
        """Close the guest's ends here."""
        for descriptor in (self.reader, self.writer, self.log_in):
            os.close(descriptor)

    def abandon(self) -> None:
        """Close our ends, since there is no guest."""
        for descriptor in self.ours:
            os.close(descriptor)


def spawn(
    command: Callable[[int, int], list[str]],
    environment: dict[str, str],
    *,
    pass_fds: tuple[int, ...] = (),
    **guest: Any,
) -> Guest:
    """Start `command(read_fd, write_fd)` with a channel and a log pipe of its own."""
    pipes = Pipes.make()
    try:
        process = subprocess.Popen(
            command(pipes.reader, pipes.writer),
            stdin=subprocess.DEVNULL,
            stdout=pipes.log_in,
            stderr=pipes.log_in,
            # An interrupt at the terminal is for the host, which then ends the guest.
            start_new_session=True,
            pass_fds=(pipes.reader, pipes.writer, *pass_fds),
            env=environment,
            cwd="/",
        )
    except OSError as error:
        pipes.abandon()
        raise GraderError(f"a guest could not be started: {error}") from error
    finally:
        pipes.handed_over()
    return Guest(*pipes.ours, process=process, **guest)


def nurse(fork_server: ForkServer, order: ForkRequest, handle: int, **guest: Any) -> Guest:
    """Fork a guest from the fork server, with its own channel and log pipe.

    `handle` is the pidfd of the process whose namespaces it joins, or a lifeline's reading end.
    """
    pipes = Pipes.make()
    status, status_in = os.pipe2(os.O_CLOEXEC)
    theirs = (pipes.reader, pipes.writer, pipes.log_in, status_in, handle)
    try:
        fork = fork_server.fork(order, theirs)
    except GraderError:
        pipes.abandon()
        os.close(status)
        raise
    finally:
        pipes.handed_over()
        os.close(status_in)
    return Guest(*pipes.ours, fork=fork, status=status, **guest)


def resource_limits(limits: Limits, device: str) -> dict[str, int]:
    """Return the rlimits of a guest by name; inherited by every process that it starts."""
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
        wanted["RLIMIT_DATA"] = limits.claimed or limits.memory
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
