"""The fork server: a process that has imported torch and forks a guest for each job.

Run as `python fork_server.py SOCKET_FD`, outside every sandbox. It runs no generated code and reads
nothing that a guest wrote: each order comes from the host, with the descriptors of one guest. A
forked child enters its sandbox before it reads its first frame, exactly like a guest started as a new process: into the
namespaces that bubblewrap has made (`join`), or under a reaper (`reap`).

A branch is a fork that loads more, such as the simulator, and forks the guests that need it: registering a device for
each of torch's operators takes most of such a guest's start, Triton hashes its own sources, and torch imports its shape
rules and sympy at the first meta tensor.

Guests of one server share its memory from before any job, including the addresses of libraries.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import signal
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from grader.guest import main as program
from grader.guest import reaper
from grader.guest.large_pages import use_large_pages

NAMESPACES = 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x20000000 | 0x40000000
"""Mount, cgroup, uts, ipc, pid and network; the user namespace is requested separately."""
USER_NAMESPACE = 0x10000000


def main() -> None:
    """Import what every guest needs, then fork one guest for each order."""
    control = socket.socket(fileno=int(sys.argv[1]))
    gc.disable()  # the collector would take a fifth of the time and free nothing; guests turn it on again
    import torch

    # torch.utils.cpp_extension queries the GPU at import: a driver started here could not be used in any fork.
    asked, torch.cuda.is_available = torch.cuda.is_available, lambda: False
    import grader.guest.session  # noqa: F401 - what every guest needs, once for all

    torch.cuda.is_available = asked
    settle()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    control.send(b"ready")
    while True:
        order, descriptors, _, _ = socket.recv_fds(control, 1 << 16, 8)
        if not order:
            os._exit(0)
        asked = json.loads(order)
        child = os.fork()
        if child == 0:
            if "branch" not in asked:
                control.detach()
                attend(asked, descriptors)
            control.close()
            control = branch(asked["branch"], asked["more"], descriptors[0])
            continue
        for descriptor in descriptors:
            os.close(descriptor)
        control.send(str(child).encode())


def settle() -> None:
    """Make forks cheap: no garbage to search, few pages to copy."""
    gc.collect()
    gc.freeze()
    use_large_pages()


def branch(libraries: Sequence[str], more: Sequence[str], descriptor: int) -> socket.socket:
    """Load the simulator's libraries, and `triton`, `shapes` or `exact`; return the socket on which orders for its guests come."""
    from grader.guest import cuda_face, trace

    try:
        if libraries:
            cuda_face.load(*libraries)
        if "shapes" in more:
            trace.warm_up()
        if "exact" in more:
            from grader.guest import exact_mode

            exact_mode.warm_up()
        if "triton" in more:
            with contextlib.suppress(ImportError):  # the submission's own import will report it
                from grader.guest import triton_face

                triton_face.warm_up()
        settle()
        control = socket.socket(fileno=descriptor)
        control.send(b"ready")
    except OSError:
        os._exit(70)
    return control


def attend(order: dict[str, Any], descriptors: Sequence[int]) -> None:
    """Start one guest and wait for its end; report its status and exit."""
    reader, writer, log, status, handle = descriptors
    code = 70
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        redirect(log)
        reaper.become_reaper()
        if order["join"]:
            join(handle, user=order["user_namespace"])
        guest = os.fork()
        if guest == 0:
            be_guest(order["environment"], reader, writer)
        reaper.close_others(status, handle)
        if order["join"]:
            code = reaper.exit_status(os.waitpid(guest, 0)[1])
        else:
            code = reaper.watch(guest, handle)
            reaper.end_all(order["identity"])
    finally:
        os.write(status, str(code).encode())
        os._exit(0)


def redirect(log: int) -> None:
    """Redirect standard input to nothing, and output to the log."""
    null = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((null, 0), (log, 1), (log, 2)):
        os.dup2(source, target)


def join(process: int, *, user: bool) -> None:
    """Enter all namespaces of a process (a pidfd); a child forked afterwards is entirely inside."""
    flags = NAMESPACES | (USER_NAMESPACE if user else 0)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(process, flags) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"setns: {os.strerror(number)}")


def be_guest(environment: dict[str, str], reader: int, writer: int) -> None:
    """Serve one job, like the program of a guest started as a new process."""
    try:
        reaper.close_others(reader, writer)
        gc.enable()
        os.environ.clear()
        os.environ.update(environment)
        os.chdir("/")
        os.setsid()
        program.run(reader, writer)
    finally:
        os._exit(70)


if __name__ == "__main__":
    main()
