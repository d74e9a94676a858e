"""Ends one guest's process tree where there is no namespace to do it.

Run as `python reaper.py LIFELINE_FD UID COMMAND...`, outside the sandbox, by the host. It adopts
every process that loses its parent below it, and ends them all when the guest ends or the host
lets go of the lifeline (closes it, or dies). Exits with the guest's status (128 + signal).
UID is the guest's own user id, or 0 where it has none of its own.

The standard library only: it is started for each guest and must be light.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import sys
import time
from collections.abc import Iterator

PR_SET_CHILD_SUBREAPER = 36


def children(pid: int) -> list[int]:
    """Return the children of all threads of a process; empty once it is gone."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 - it is asked many times a second
            found += map(int, peek(f"/proc/{pid}/task/{task}/children").split())
    return found


def peek(path: str) -> bytes:
    """Return the contents of a small file in /proc; raises OSError when its process is gone."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return b"".join(iter(lambda: os.read(descriptor, 1 << 16), b""))
    finally:
        os.close(descriptor)


def tree(root: int) -> Iterator[int]:
    """Yield the process and all its visible descendants."""
    pending = [root]
    while pending:
        pid = pending.pop()
        yield pid
        pending += children(pid)


def main() -> None:
    """Run the guest, then end all its processes."""
    lifeline, identity = int(sys.argv[1]), int(sys.argv[2])
    become_reaper()
    os.set_inheritable(lifeline, False)
    guest = os.fork()
    if guest == 0:
        os.setsid()
        os.execv(sys.argv[3], sys.argv[3:])  # noqa: S606 - there is no shell
    close_others(lifeline)
    status = watch(guest, lifeline)
    end_all(identity)
    os._exit(status)


def become_reaper() -> None:
    """Make this process adopt every descendant that loses its parent."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def exit_status(status: int) -> int:
    """Return waitpid's status in a shell's form: 128 plus the signal, or the exit status."""
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def close_others(*kept: int) -> None:
    """Close every descriptor but these and the first three, so that only the guest holds its ends."""
    low = 3
    for descriptor in (*sorted(kept), os.sysconf("SC_OPEN_MAX")):
        os.closerange(low, descriptor)
        low = descriptor + 1


def watch(guest: int, lifeline: int) -> int:
    """Wait for the guest or the end of the lifeline; return the guest's exit status."""
    handle = os.pidfd_open(guest)
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    poll.register(lifeline, select.POLLIN)
    if any(descriptor == handle for descriptor, _ in poll.poll()):
        return exit_status(os.waitpid(guest, 0)[1])
    return 128 + signal.SIGKILL


def end_all(identity: int) -> None:
    """Kill until no child is left; processes are stopped first, so that they can't fork."""
    while True:
        if identity:
            kill_user(identity)
        seen: set[int] = set()
        while fresh := set(tree(os.getpid())) - seen - {os.getpid()}:
            seen |= fresh
            signal_all(fresh, signal.SIGSTOP)
        signal_all(seen, signal.SIGKILL)
        if not reap():
            return
        time.sleep(0.002)


def kill_user(identity: int) -> None:
    """Kill every process of the user id in one call, which no fork can outrun."""
    helper = os.fork()
    if helper == 0:
        os.setresuid(identity, identity, identity)
        with contextlib.suppress(OSError):
            os.kill(-1, signal.SIGKILL)
        os._exit(0)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(helper, 0)


def signal_all(pids: set[int], number: int) -> None:
    """Signal each process that is still there."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def reap() -> bool:
    """Collect dead children; return whether any child is left."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


if __name__ == "__main__":
    main()
