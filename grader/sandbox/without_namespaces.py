"""The forms without namespaces: Landlock, an unprivileged user id, and none at all."""

from __future__ import annotations

import contextlib
import functools
import os
import stat
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from grader.errors import GraderError
from grader.guest import reaper
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

DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
PROCESSORS = ("/sys/devices/system/cpu", "/sys/devices/system/node")
_COMMON = (
    "network: no sockets at all",
    "memory, CPU time, processes, open files, file and scratch sizes limited",
)


@dataclass(frozen=True)
class WithoutNamespaces(Form):
    """A process that drops its own rights, under a reaper that ends its whole tree."""

    kind: Literal["landlock", "identity", "none"] = "none"
    own_identity: bool = False
    """Whether each guest gets a user id of its own (the host is root)."""

    def start(self, plan: Plan, fork_server: ForkServer | None = None) -> Guest:
        """Start the guest's reaper, and below it the guest."""
        require_reach(self, plan.read_only)
        with contextlib.ExitStack() as stack:
            ends: list[Callable[[], None]] = []
            stack.callback(lambda: [ends.pop()() for _ in tuple(ends)])
            identity = None
            if self.own_identity:
                identity, give_back = slots.take_identity()
                ends.append(give_back)
            if identity is not None and self.kind == "identity":
                ends.append(functools.partial(slots.sweep, identity))
            folder, release = slots.take_folder(plan.slot, identity)
            ends.append(release)
            guest = self._start_guest(plan, folder, identity, fork_server)
            guest.ends = [*ends]
            stack.pop_all()
        return guest

    def _start_guest(
        self, plan: Plan, folder: Path, identity: int | None, fork_server: ForkServer | None
    ) -> Guest:
        environment = interpreter.environment(str(folder), str(folder))
        lifeline, held = os.pipe2(os.O_CLOEXEC)
        common = {
            "lifeline": held,
            "scratch": str(folder),
            "disk": folder,
            "confine": self._confinement(plan, folder, identity),
            "filter": self._filter(plan),
        }
        try:
            if fork_server is not None:
                order = ForkRequest(join=False, environment=environment, identity=identity or 0)
                return nurse(fork_server, order, lifeline, **common)
            program = [sys.executable, "-I", "-S", "-B", reaper.__file__, str(lifeline)]

            def command(reader: int, writer: int) -> list[str]:
                inside = interpreter.command(reader, writer)
                return [*program, str(identity or 0), *plan.under, *inside]

            return spawn(command, environment, pass_fds=(lifeline,), **common)
        except GraderError:
            os.close(held)
            raise
        finally:
            os.close(lifeline)

    def _filter(self, plan: Plan) -> bytes:
        if self.kind == "none":
            return b""
        # Where other processes have the same user id and Landlock doesn't restrict signals, none are allowed.
        return seccomp.program(
            sockets=False,
            signals=self.own_identity or are_signals_scoped(),
            memory_files=plan.device == "cuda",
        )

    def _confinement(self, plan: Plan, folder: Path, identity: int | None) -> dict[str, Any]:
        limits = resource_limits(plan.limits, plan.device)
        if identity is None:
            # The kernel counts all processes of the user; this host's own are among them.
            limits["RLIMIT_NPROC"] += threads_of(os.getuid())
        own = None
        if identity is not None:
            locked = self.kind == "landlock" and bool(unreachable(plan.read_only))
            own = {"uid": identity, "gid": identity, "read_all": locked}
        rules = _rules(plan, folder) if self.kind == "landlock" else {}
        return {"limits": limits, "identity": own, "landlock": rules, "drop": False}


def _rules(plan: Plan, folder: Path) -> dict[str, list[str]]:
    """Return the paths that a guest may use: for reading, for reading and writing, and devices."""
    shown = (*interpreter.folders(), *interpreter.own_files(), *plan.read_only)
    nodes = sorted(Path("/dev").glob("nvidia*")) if plan.device == "cuda" else []
    system = (*interpreter.SYSTEM, *interpreter.SETTINGS, *PROCESSORS, "/proc")
    return {
        "read": [*system, *map(str, shown)],
        "write": [str(folder)],
        "device": [*DEVICES, *map(str, nodes)],
    }


@cache
def are_signals_scoped() -> bool:
    """Whether Landlock on this machine restricts signals to its domain."""
    from grader.guest import landlock

    return landlock.abi() >= landlock.ABI_SCOPE


def require_reach(form: Form, shown: tuple[Path, ...]) -> None:
    """Raise GraderError where guests under the form can't read a path that they need."""
    if barred := _barring_folder(form, shown):
        raise GraderError(
            f"guests must read files below {barred}, which other users can't enter",
            f"run chmod o+x {barred}, or keep Python, this program and its cache (KERNEL_GRADER_CACHE) elsewhere",
        )


def reached_by(form: Form, folder: Path) -> bool:
    """Whether guests under the form can read below a folder of this user."""
    return not _barring_folder(form, (folder,))


def _barring_folder(form: Form, shown: tuple[Path, ...]) -> str:
    """Return the first folder that blocks guests under the form from a path that they need, or ""."""
    by_identity = isinstance(form, WithoutNamespaces) and form.kind == "identity"
    return unreachable(shown) if by_identity else ""


@cache
def unreachable(read_only: tuple[Path, ...]) -> str:
    """Return the first folder on a guest's paths that other users can't enter, or ""."""
    needed = (*interpreter.folders(), *interpreter.own_files(), *read_only)
    for folder in sorted({above for path in needed for above in (*path.parents, path)}):
        if folder.is_dir() and not folder.stat().st_mode & stat.S_IXOTH:
            return str(folder)
    return ""


def _lacks(*own: str) -> tuple[str, ...]:
    """Return the protections that a form lacks, including a system-call filter where libseccomp is missing."""
    return tuple(filter(None, (*own, "a kernel of its own", seccomp.available())))


def landlock_form(*, root: bool) -> WithoutNamespaces:
    """Return the form that uses Landlock."""
    kept = (
        "signals: none to processes outside"
        if are_signals_scoped() or root
        else "signals: none at all"
    )
    return WithoutNamespaces(
        name="landlock",
        covers=("file system: read-only but for its scratch folder, no home", kept, *_COMMON),
        lacks=_lacks("namespaces: the names of other processes can be seen"),
        kind="landlock",
        own_identity=root,
    )


def identity_form() -> WithoutNamespaces:
    """Return the form that uses an unprivileged user id; for root only."""
    return WithoutNamespaces(
        name="user-id",
        covers=(
            "file system: what only root or its owner may read or write",
            "signals: none to processes outside",
            *_COMMON,
        ),
        lacks=_lacks(
            "a view of its own: files that every user may read can be read",
            "/tmp and the like can be written (and are swept after it)",  # noqa: S108
            "namespaces: the names of other processes can be seen",
        ),
        kind="identity",
        own_identity=True,
    )


def unsafe_form() -> WithoutNamespaces:
    """Return no isolation at all, for --unsafe-no-sandbox."""
    return WithoutNamespaces(
        name="unsafe",
        covers=("memory, CPU time, file and scratch sizes limited", "its process tree is ended"),
        lacks=("everything else: generated code runs with your rights",),
    )
