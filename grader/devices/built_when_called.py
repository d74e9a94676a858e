"""Code that a program compiles only when it is called, compiled once for all of its guests.

It is compiled in calls on zeros, so that no returned file depends on the inputs of a run.
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
"""Marker file where the calls made no extensions."""
Call = Callable[[GuestJob], GuestReply]


def call_once(jobs: Sequence[GuestJob], kept: Path, converse: Call) -> list[GuestReply]:
    """Call a program by each of these jobs, and keep the compiled files in `kept`.

    Each job gets the files of earlier ones. Compiler errors are kept as well, so that no later guest repeats them.
    Other failures will recur in the run, which reports them.
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
    """Run a job without real inputs, and keep its compiled files beside those of the build."""
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
    """Move the compiled files to where guests of this build find them; a marker if there are none."""
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
    """Add the files that a build does not have yet, each atomically."""
    for path in filter(Path.is_file, made.rglob("*")):
        target = kept / path.relative_to(made)
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            path.rename(target)
