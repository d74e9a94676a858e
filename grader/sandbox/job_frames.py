"""A job as the first frames of a conversation with a guest."""

from __future__ import annotations

import json
import os

import numpy as np

from grader.guest.protocol import Frame
from grader.sandbox import arrays
from grader.sandbox.files import read_folder
from grader.sandbox.job import GuestJob


def job_frames(job: GuestJob) -> list[Frame]:
    """Return the frames of a job, without its settings, which are the second frame."""
    _, init = arrays.split_tensors(job.init or ())
    files = read_folder(job.artifact) if job.artifact is not None else []
    names = list(job.state or {})
    held = [job.state or {}, *([job.initial] if job.state and job.initial else [])]
    state = [arrays.to_frame(np.asarray(some[name])) for some in held for name in names]
    header = {
        "role": job.role,
        "entry": job.entry,
        "device": job.device,
        "seed": job.seed,
        "tensors": len(init) + len(state),
        "state": names or None,
        "initial": len(held) == 2,
        "files": len(files),
        "threads": job.threads,
        "build_only": job.build_only,
        "construct": job.init is not None or not job.build_only,
        "double": job.double,
        "want_state": job.want_state,
        "describe": job.describe,
    }
    code = job.code.encode("utf-8", "surrogatepass")
    return [Frame("job", header, code), *files, *init, *state]


def settings_frame(job: GuestJob, scratch: str) -> Frame:
    """Return the frame of a job's settings; `scratch` is the guest's folder as it sees it."""
    values, _ = arrays.split_tensors(job.init or ())
    settings = {
        "scratch": scratch,
        "env": dict(job.env),
        "init": values,
        "preload": [os.fspath(path) for path in job.preload],
        "options": dict(job.options),
    }
    return Frame("settings", {}, json.dumps(settings).encode())
