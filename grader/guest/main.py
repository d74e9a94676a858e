"""The guest's program: runs one job for the host over two file descriptors.

Started as `python main.py READ_FD WRITE_FD`, or forked by `warm`. The host believes nothing of it beyond bytes that are
compared there; hiding its bookkeeping is no protection.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import random
import resource
import sys
from pathlib import Path

if __name__ == "__main__":
    # The sandbox shows only `grader/__init__.py` and `grader/guest`.
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from grader.guest import artifact, confine, probe
from grader.guest.protocol import Channel, Frame, ProtocolError


def hide(descriptor: int) -> int:
    """Move a descriptor to a number that can't be guessed, and let no child inherit it."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    few = 0 < soft < 1024  # the machine's own limit; RLIM_INFINITY is negative
    highest = max(soft - 16, 4) if few else 900
    target = random.SystemRandom().randrange(min(100, highest // 2), highest)
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, target)
    os.close(descriptor)
    return moved


def run(reader: int, writer: int) -> None:
    """Confine this process, then answer one job or the trial of a form; never returns."""
    try:
        channel = Channel(hide(reader), hide(writer))
        confine.apply(channel.receive("confine").header, bytes(channel.receive("filter").body))
        channel.send("hello", python=sys.version.split()[0])
        frame = channel.receive("job", "probe")
        if frame.kind == "probe":
            channel.send("probed", broken=probe.broken_promises(**frame.header))
        else:
            serve(channel, frame)
    except (ProtocolError, OSError) as error:
        # The host is gone, or the sandbox failed: the log is the only place to report.
        sys.stderr.write(f"guest: {error}\n")
        sys.stderr.flush()
        os._exit(70)
    # Don't run threads and atexit hooks of the submission.
    os._exit(0)


def serve(channel: Channel, job: Frame) -> None:
    """Answer one job."""
    import torch

    from grader.guest import session, tensors

    if job.header["build_only"]:
        # Compilers on every core must not delay a program that is timed beside them.
        with contextlib.suppress(OSError):
            os.nice(10)
    channel.send("loaded", torch=torch.__version__)
    settings = json.loads(bytes(channel.receive("settings").body))
    scratch = Path(settings["scratch"])
    scratch.mkdir(parents=True, exist_ok=True)
    os.environ.update(settings["env"])
    os.chdir(scratch)
    artifact.receive(channel, scratch, job.header["files"])
    artifact.set_aside(scratch)
    given = [tensors.from_frame(channel.receive("tensor")) for _ in range(job.header["tensors"])]
    names = job.header["state"] or []
    # Tensors among the constructor's arguments come first, then weights, then what the reference drew.
    held = 1 + job.header["initial"]
    last = iter(given[len(given) - held * len(names) :])
    weights, *initial = [dict(zip(names, last, strict=False)) for _ in range(held)]
    init = tuple(given[value] if kind == "tensor" else value for kind, value in settings["init"])
    session.Session(
        channel,
        job,
        scratch=scratch,
        init=init,
        given=weights,
        initial=initial[0] if initial else {},
        options=settings["options"],
        preloads=settings["preload"],
    ).run()


if __name__ == "__main__":
    run(int(sys.argv[1]), int(sys.argv[2]))
