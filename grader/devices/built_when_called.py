"""What a program compiles only when it is called: compiled once, for all of its guests.

Calls on zeros make it, so that nothing which comes back has seen the inputs of a run.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from grader.build.workspace import DRAFT
from grader.sandbox import GuestJob, GuestReply

CALLED = "called"
"""A file in place of extensions, where the calls made none."""
Call = Callable[[GuestJob], GuestReply]


def call_once(jobs: Sequence[GuestJob], kept: Path, converse: Call) -> list[GuestReply]:
    """Call a program by each of these jobs, and keep in `kept` what that compiles.

    Each job finds what those before it made. What the compilers refuse is kept as well: no later guest asks them
    again. Whatever else goes wrong will go wrong in the run, which tells.
    """
    replies: list[GuestReply] = []
    with tempfile.TemporaryDirectory(prefix=DRAFT, dir=kept.parent.parent) as scratch:
        made = kept if has_files(kept) else None
        for number, job in enumerate(jobs):
            target = Path(scratch) / f"{number}"
            reply = converse(replace(_on_zeros(job), artifact=made, keep_artifact=target))
            replies.append(reply)
            made = target if has_files(target) else made
            if reply.status != "done":
                break
        _keep(made, kept)
    return replies


def run_and_keep_compiled(job: GuestJob, converse: Call) -> GuestReply:
    """Run a job that sees no inputs, and keep what it compiles beside what its build has made."""
    kept = job.artifact
    if kept is None or not has_files(kept):
        return converse(job)
    with tempfile.TemporaryDirectory(prefix=DRAFT, dir=kept.parent.parent) as scratch:
        made = Path(scratch) / "made"
        reply = converse(replace(job, keep_artifact=made))
        with contextlib.suppress(OSError):  # another process was quicker
            _add(made, kept)
        return reply


def has_files(folder: Path) -> bool:
    """Whether a folder holds anything."""
    return folder.is_dir() and any(path.is_file() for path in folder.rglob("*"))


def _on_zeros(job: GuestJob) -> GuestJob:
    workloads = (
        replace(
            one,
            args=tuple(np.zeros_like(v) if isinstance(v, np.ndarray) else v for v in one.args),
            deadline=None,
        )
        for one in job.workloads
    )
    return replace(job, workloads=tuple(workloads))


def _keep(made: Path | None, kept: Path) -> None:
    """Put what was made where guests of this build find it; a mark where there is nothing."""
    if made == kept:
        return
    with contextlib.suppress(OSError):  # another process was quicker
        if made is None:
            kept.mkdir(exist_ok=True)
            (kept / CALLED).touch()
        elif has_files(kept):
            _add(made, kept)
        else:
            if kept.is_dir():
                kept.rmdir()
            made.rename(kept)


def _add(made: Path, kept: Path) -> None:
    """Put what a build does not have yet beside what it has, each file at once."""
    for path in filter(Path.is_file, made.rglob("*")):
        target = kept / path.relative_to(made)
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            path.rename(target)
