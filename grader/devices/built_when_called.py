"""Extensions that a program compiles only when it is called: compiled once, for all of its guests.

A call on zeros makes them, so that nothing which comes back has seen the inputs of a run.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from grader.build.workspace import DRAFT
from grader.records import Build
from grader.sandbox import GuestJob, GuestReply

CALLED = "called"
"""A file in the place of extensions, where a call made none."""
Call = Callable[[GuestJob], GuestReply]


def call_once(job: GuestJob, build: Build, artifacts: Path, converse: Call) -> None:
    """Call the program of this job once, where its build made nothing, and keep what that compiles.

    `job` names the build's artifact. What the compilers refuse is kept as well: no later guest asks
    them again. Whatever else goes wrong will go wrong in the run, which tells.
    """
    kept = job.artifact
    if not build.lazy or kept is None or not job.workloads or _files(kept):
        return
    first = job.workloads[0]
    zeros = tuple(np.zeros_like(v) if isinstance(v, np.ndarray) else v for v in first.args)
    with tempfile.TemporaryDirectory(prefix=DRAFT, dir=artifacts) as scratch:
        made = Path(scratch) / "extensions"
        call = replace(first, args=zeros, deadline=None)
        converse(replace(job, workloads=(call,), artifact=None, keep_artifact=made))
        if not _files(made):
            made.mkdir(exist_ok=True)
            (made / CALLED).touch()
        with contextlib.suppress(OSError):  # another process was quicker
            if kept.is_dir():
                kept.rmdir()
            made.rename(kept)


def _files(folder: Path) -> bool:
    return folder.is_dir() and any(path.is_file() for path in folder.rglob("*"))
