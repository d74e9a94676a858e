"""Nsight Compute around a guest at the size that is timed: bytes, sectors and occupancy by kernel."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from grader.devices.cuda.profiler_log import METRICS, read
from grader.devices.cuda.timing import arguments
from grader.devices.cuda.timing_worker import UNSEEN, TimingWorker, WorkerGoneError
from grader.records import Build, KernelProfile, Workload
from grader.sandbox import Form, GuestJob, Limits

MOST_LAUNCHES = 40
"""Most profiled launches of one call; each runs once for every pass of counters."""
_NAME = re.compile(r"(?:void\s+)?([A-Za-z_][\w:]*)")
_REFUSED = re.compile(r"==ERROR==\s*(.+)|==WARNING==\s*(No kernels.+)")


@dataclass(frozen=True)
class Profiled:
    """The profiler's counts, or why there are none."""

    kernels: tuple[KernelProfile, ...] = ()
    note: str = ""


def program() -> Path | None:
    """Return the path of ncu, or None where it isn't installed."""
    named = shutil.which("ncu")
    home = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))
    places = [Path(named)] if named else [home / "bin" / "ncu"]
    return next((place for place in places if place.exists()), None)


def profile(
    job: GuestJob, form: Form, limits: Limits, workload: Workload, build: Build
) -> Profiled:
    """Call the program of a job once, under ncu; its own kernels only.

    Its output is shown but decides nothing, since it runs beside the program, in the guest.
    """
    ncu = program()
    if ncu is None:
        return Profiled(note="not profiled: Nsight Compute (ncu) is not installed")
    if not build.resources:
        return Profiled(note="not profiled: no kernels of its own are known")
    under = _command(ncu, own_kernels(resource.kernel for resource in build.resources))
    shown = (*job.read_only, *installation(ncu))
    worker = TimingWorker(replace(job, under=under, read_only=shown), form, limits)
    why = "it printed no table"
    try:
        worker.prepare(arguments(workload), 1)
        worker.play(1, 1, UNSEEN)
    except WorkerGoneError as error:
        why = str(error)
    reply = worker.close()
    log = reply.log if reply else ""
    if found := read(log):
        return Profiled(found)
    refused = _REFUSED.search(log)
    return Profiled(
        note=f"not profiled: ncu: {(refused[1] or refused[2]) if refused else why}"[:300]
    )


def _command(ncu: Path, kernels: str) -> tuple[str, ...]:
    """Return ncu's command line; `kernels` is the pattern of the names to profile."""
    # It unpacks its sections into the home folder, which a guest lacks.
    started = ("/usr/bin/env", "HOME=/tmp", str(ncu))
    printed = ("--csv", "--page", "raw", "--target-processes", "all")
    asked = ("--metrics", ",".join(METRICS), "--launch-count", str(MOST_LAUNCHES))
    named = ("--kernel-name-base", "function", "--kernel-name", kernels)
    return (*started, *printed, *asked, "--clock-control", "none", *named)


def installation(ncu: Path) -> tuple[Path, ...]:
    """Return the folders in which ncu, a script, searches for its installation."""
    beside = ncu.resolve().parent.parent.glob("nsight-compute*")
    return tuple(path for path in (Path("/opt/nvidia/nsight-compute"), *beside) if path.is_dir())


def own_kernels(names: Iterable[str]) -> str:
    """Return ncu's filter for kernels of these (demangled) names, without their arguments."""
    bases = {match.group(1).split("::")[-1] for name in names if (match := _NAME.match(name))}
    return "regex:^(" + "|".join(sorted(map(re.escape, bases))) + ")$"
