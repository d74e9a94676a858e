"""Running a compiler, and tracing which compilers decided."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LOG = "kernel-grader.log"
"""Log file beside the objects with the compilers' output, which torch drops after a success."""

STOCK_WAY = "kernel-grader: compiled the stock way"
"""Line in the log of a build that needed the stock compilers."""

CANNOT_RUN = 126
"""The shell's exit status for a tool that is missing or can't be started."""
UNABLE = "kernel-grader: can't run"


@dataclass(frozen=True)
class Outcome:
    """A tool's exit status and its output on both streams, in order."""

    code: int
    text: str

    @property
    def ok(self) -> bool:
        """Whether it succeeded."""
        return self.code == 0


def run(arguments: list[str], *, env: dict[str, str] | None = None) -> Outcome:
    """Run a tool to its end; its two streams are returned as one text."""
    started = time.monotonic()
    try:
        process = subprocess.Popen(
            arguments,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **(env or {})},
        )
    except OSError as error:
        return Outcome(CANNOT_RUN, f"{UNABLE} {arguments[0]}: {error.strerror}\n")
    assert process.stdout is not None
    with process.stdout:
        text = process.stdout.read().decode("utf-8", "replace")
    _, status, used = os.wait4(process.pid, 0)
    code = process.returncode = os.waitstatus_to_exitcode(status)
    wall, cpu = time.monotonic() - started, used.ru_utime + used.ru_stime
    trace(f"{wall:.2f} s, {cpu:.2f} s of CPU: {Path(arguments[0]).name} -> {code}")
    return Outcome(code, text)


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """Yield a folder for files passed between compilers; importing `tempfile` takes longer than a driver's own work."""
    folder = Path(os.environ.get("TMPDIR", "/tmp"), f"kg{os.getpid()}-{time.monotonic_ns()}")  # noqa: S108
    folder.mkdir(0o700)
    try:
        yield folder
    finally:
        with contextlib.suppress(OSError):
            for path in folder.iterdir():
                path.unlink()
            folder.rmdir()


def trace(line: str) -> None:
    """Record a step, where KERNEL_GRADER_TRACE is set."""
    if os.environ.get("KERNEL_GRADER_TRACE"):
        sys.stderr.write(f"[kernel-grader] {line}\n")


def say(text: str) -> None:
    """Pass a tool's output on to the build's log."""
    if text.strip():
        line = text if text.endswith("\n") else text + "\n"
        sys.stdout.write(line)
        sys.stdout.flush()
        with Path(LOG).open("a", encoding="utf-8") as log:
            log.write(line)
